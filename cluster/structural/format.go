package structural

import (
	"encoding/base64"
	"fmt"
	"net"
	"net/mail"
	"net/netip"
	"net/url"
	"regexp"
	"strings"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"
)

// formatted says what is wrong with a string of a format, or "". A format that
// is not known says nothing, as in Kubernetes.
func formatted(format, s string) string {
	check, ok := formats[format]
	if !ok {
		return ""
	}
	return check(s)
}

// formats are those of Kubernetes' built-in types and of custom resources.
var formats = map[string]func(string) string{
	"byte": func(s string) string {
		if _, err := base64.StdEncoding.DecodeString(s); err != nil {
			return "must be base64"
		}
		return ""
	},
	"date-time":  timeFormat(time.RFC3339, "a time such as 2026-01-31T12:00:00Z"),
	"micro-time": timeFormat(metav1.RFC3339Micro, "a time such as 2026-01-31T12:00:00.000000Z"),
	"date":       timeFormat(time.DateOnly, "a date such as 2026-01-31"),
	"duration": func(s string) string {
		_, err := time.ParseDuration(s)
		return unless(err == nil, s, "a duration such as 30s or 5m")
	},
	"uri": func(s string) string {
		u, err := url.Parse(s)
		return unless(err == nil && u.Scheme != "", s, "a URI")
	},
	"email": func(s string) string {
		_, err := mail.ParseAddress(s)
		return unless(err == nil, s, "an e-mail address")
	},
	"hostname": func(s string) string {
		return unless(len(validation.IsDNS1123Subdomain(strings.ToLower(s))) == 0, s, "a host name")
	},
	"ipv4": func(s string) string {
		a, err := netip.ParseAddr(s)
		return unless(err == nil && a.Is4(), s, "an IPv4 address")
	},
	"ipv6": func(s string) string {
		a, err := netip.ParseAddr(s)
		return unless(err == nil && a.Is6(), s, "an IPv6 address")
	},
	"ip": func(s string) string {
		_, err := netip.ParseAddr(s)
		return unless(err == nil, s, "an IP address")
	},
	"cidr": func(s string) string {
		_, err := netip.ParsePrefix(s)
		return unless(err == nil, s, "an address range such as 10.0.0.0/8")
	},
	"mac": func(s string) string {
		_, err := net.ParseMAC(s)
		return unless(err == nil, s, "a hardware address")
	},
	"uuid":     matching(`(?i)^[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12}$`, "a UUID"),
	"uuid3":    matching(`(?i)^[0-9a-f]{8}-?[0-9a-f]{4}-?3[0-9a-f]{3}-?[0-9a-f]{4}-?[0-9a-f]{12}$`, "a UUID of version 3"),
	"uuid4":    matching(`(?i)^[0-9a-f]{8}-?[0-9a-f]{4}-?4[0-9a-f]{3}-?[89ab][0-9a-f]{3}-?[0-9a-f]{12}$`, "a UUID of version 4"),
	"uuid5":    matching(`(?i)^[0-9a-f]{8}-?[0-9a-f]{4}-?5[0-9a-f]{3}-?[89ab][0-9a-f]{3}-?[0-9a-f]{12}$`, "a UUID of version 5"),
	"hexcolor": matching(`^#?([0-9a-fA-F]{3}|[0-9a-fA-F]{6})$`, "a colour such as #ff8800"),

	"k8s-short-name":                    complaints(validation.IsDNS1123Label),
	"k8s-long-name":                     complaints(validation.IsDNS1123Subdomain),
	"k8s-long-name-caseless":            complaints(func(s string) []string { return validation.IsDNS1123Subdomain(strings.ToLower(s)) }),
	"k8s-label-key":                     complaints(validation.IsQualifiedName),
	"k8s-label-value":                   complaints(validation.IsValidLabelValue),
	"k8s-uuid":                          matching(`^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$`, "a UUID in lower case"),
	"k8s-path-segment-name":             complaints(pathSegment),
	"k8s-prefixed-label-key":            complaints(prefixedKey),
	"k8s-resource-pool-name":            complaints(poolName),
	"k8s-extended-resource-name":        complaints(prefixedKey),
	"k8s-resource-fully-qualified-name": complaints(prefixedKey),
}

func unless(ok bool, s, want string) string {
	if ok {
		return ""
	}
	return fmt.Sprintf("%s is not %s", literal(s), want)
}

func timeFormat(layout, want string) func(string) string {
	return func(s string) string {
		_, err := time.Parse(layout, s)
		return unless(err == nil, s, want)
	}
}

func matching(pattern, want string) func(string) string {
	re := sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(pattern) })
	return func(s string) string { return unless(re().MatchString(s), s, want) }
}

// complaints makes a format of one of Kubernetes' validators.
func complaints(check func(string) []string) func(string) string {
	return func(s string) string {
		if bad := check(s); len(bad) > 0 {
			return fmt.Sprintf("%s: %s", literal(s), bad[0])
		}
		return ""
	}
}

func pathSegment(s string) []string {
	if s == "." || s == ".." || strings.ContainsAny(s, "/%") {
		return []string{`must not be "." or "..", nor contain "/" or "%"`}
	}
	return nil
}

func prefixedKey(s string) []string {
	if !strings.Contains(s, "/") {
		return []string{"must have a prefix, such as example.com/name"}
	}
	return validation.IsQualifiedName(s)
}

func poolName(s string) []string {
	for part := range strings.SplitSeq(s, "/") {
		if bad := validation.IsDNS1123Subdomain(part); bad != nil {
			return bad
		}
	}
	return nil
}
