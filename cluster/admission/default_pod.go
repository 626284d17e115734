package admission

import "strings"

func defaultTemplate(spec tree) {
	if t := spec.sub("template"); t != nil {
		defaultPodSpec(t.make("spec"))
	}
}

// defaultPod is for Pods only, not for templates.
func defaultPod(spec tree) {
	spec.init("enableServiceLinks", true)
	spec.fill("serviceAccountName", "default")
	for _, list := range []string{"initContainers", "containers"} {
		for _, c := range spec.list(list) {
			limits := c.sub("resources").sub("limits")
			if len(limits) == 0 {
				continue
			}
			requests := c.sub("resources").make("requests")
			for name, v := range limits {
				requests.init(name, v)
			}
		}
	}
}

func defaultPodSpec(spec tree) {
	if spec == nil {
		return
	}
	spec.fill("restartPolicy", "Always")
	spec.fill("dnsPolicy", "ClusterFirst")
	spec.fill("schedulerName", "default-scheduler")
	spec.init("terminationGracePeriodSeconds", 30)
	spec.make("securityContext")
	if name, ok := spec["serviceAccount"].(string); ok {
		spec.fill("serviceAccountName", name)
	}
	for _, list := range []string{"initContainers", "containers"} {
		for _, c := range spec.list(list) {
			defaultContainer(c)
		}
	}
	for _, v := range spec.list("volumes") {
		defaultVolume(v)
	}
}

func defaultContainer(c tree) {
	if image, ok := c["image"].(string); ok && image != "" {
		c.fill("imagePullPolicy", pullPolicy(image))
	}
	c.make("resources")
	c.fill("terminationMessagePath", "/dev/termination-log")
	c.fill("terminationMessagePolicy", "File")
	for _, p := range c.list("ports") {
		p.fill("protocol", "TCP")
	}
	for _, name := range []string{"livenessProbe", "readinessProbe", "startupProbe"} {
		if p := c.sub(name); p != nil {
			p.fill("timeoutSeconds", 1)
			p.fill("periodSeconds", 10)
			p.fill("successThreshold", 1)
			p.fill("failureThreshold", 3)
			p.sub("grpc").init("service", "")
			defaultHTTPGet(p)
		}
	}
	for _, name := range []string{"postStart", "preStop"} {
		defaultHTTPGet(c.sub("lifecycle").sub(name))
	}
	for _, e := range c.list("env") {
		e.sub("valueFrom").sub("fieldRef").fill("apiVersion", "v1")
	}
}

func defaultHTTPGet(handler tree) {
	h := handler.sub("httpGet")
	h.fill("path", "/")
	h.fill("scheme", "HTTP")
}

// pullPolicy is Always for the tag latest and for no tag, else IfNotPresent.
func pullPolicy(image string) string {
	if strings.Contains(image, "@") {
		return "IfNotPresent"
	}
	_, tag, ok := strings.Cut(image[strings.LastIndexByte(image, '/')+1:], ":")
	if !ok || tag == "latest" {
		return "Always"
	}
	return "IfNotPresent"
}

func defaultVolume(v tree) {
	if len(v) == 1 && v.has("name") {
		v.make("emptyDir")
	}
	v.sub("configMap").init("defaultMode", 0o644)
	v.sub("secret").init("defaultMode", 0o644)
	v.sub("projected").init("defaultMode", 0o644)
	v.sub("downwardAPI").init("defaultMode", 0o644)
}
