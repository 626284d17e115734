package lang

import (
	"fmt"
	"math/big"
	"strconv"
	"strings"
)

// MaxDigits bounds the digits on either side of a number's decimal point.
const MaxDigits = 400

// CanonicalNumber rewrites a decimal number, in JSON's syntax or with a
// leading "+" or a bare "." as other languages allow, to the one text that
// stands for its value:
//
//   - a whole number is its digits, without sign "+", leading zeros, decimal
//     point or exponent: 1e3, 1000.0 and 1000 are all 1000;
//   - any other number is digits, point, digits, without an exponent and
//     without trailing zeros: 2.50e-1 is 0.25;
//   - zero has no sign.
//
// Nothing is rounded. A number with more than MaxDigits digits before or after
// the point is an error, as is text that is not a number.
func CanonicalNumber(text string) (string, error) {
	mantissa, exponent := text, 0
	if i := strings.IndexAny(text, "eE"); i >= 0 {
		e, err := strconv.Atoi(text[i+1:])
		if err != nil || e > 1<<20 || e < -1<<20 {
			return "", fmt.Errorf("number %s: exponent is out of range", shorten(text))
		}
		mantissa, exponent = text[:i], e
	}
	negative := strings.HasPrefix(mantissa, "-")
	mantissa = strings.TrimPrefix(strings.TrimPrefix(mantissa, "-"), "+")
	whole, fraction, _ := strings.Cut(mantissa, ".")
	digits := whole + fraction
	if digits == "" || strings.Trim(digits, "0123456789") != "" {
		return "", fmt.Errorf("%s is not a number", shorten(text))
	}
	return FormatDecimal(negative, digits, exponent-len(fraction))
}

// FormatDecimal is the canonical text of digits × 10^exponent; digits holds
// decimal digits only.
func FormatDecimal(negative bool, digits string, exponent int) (string, error) {
	digits = strings.TrimLeft(digits, "0")
	trimmed := strings.TrimRight(digits, "0")
	exponent += len(digits) - len(trimmed)
	digits = trimmed
	if digits == "" {
		return "0", nil
	}
	point := len(digits) + exponent // digits before the decimal point
	if point > MaxDigits || -exponent > MaxDigits {
		return "", fmt.Errorf("number has more than %d digits before or after the point", MaxDigits)
	}
	sign := ""
	if negative {
		sign = "-"
	}
	switch {
	case exponent >= 0:
		return sign + digits + strings.Repeat("0", exponent), nil
	case point > 0:
		return sign + digits[:point] + "." + digits[point:], nil
	}
	return sign + "0." + strings.Repeat("0", -point) + digits, nil
}

// FormatInt is the canonical text of an integer.
func FormatInt(i *big.Int) (string, error) {
	return FormatDecimal(i.Sign() < 0, new(big.Int).Abs(i).String(), 0)
}

func shorten(s string) string {
	if len(s) > 40 {
		return strconv.Quote(s[:40]) + "..."
	}
	return strconv.Quote(s)
}
