package catalog

import (
	"strings"

	"github.com/watchglass/watchglass/core/internal/lite"
	"github.com/watchglass/watchglass/core/objectjson"
)

// most is the maximum number of addresses, ports and hosts that a cell lists.
const most = 3

// printList prints up to three values, and the number of the other values.
func printList(v *objectjson.Values, out *objectjson.Cells) {
	values := v.All(0)
	for _, value := range values[:min(len(values), most)] {
		addListed(out, value.Text())
	}
	addMore(out, len(values)-most)
	out.SetText(0)
}

// printHosts prints the first hosts of rules and the number of the other rules. A
// rule may have no host.
func printHosts(v *objectjson.Values, out *objectjson.Cells) {
	listed, more := 0, false
	for _, rule := range v.All(0) {
		more = more || listed == most
		if host := rule.Member("host"); !more && len(host) > len(`""`) {
			addListed(out, host.Text())
			listed++
		}
	}
	if more {
		addMore(out, len(v.All(0))-most)
	}
	out.SetText(0)
}

// printTLS prints the ports of an ingress: 80, and 443 if it has TLS.
func printTLS(v *objectjson.Values, out *objectjson.Cells) {
	out.Add("80")
	if v.Get(0).Len() > 0 {
		out.Add(", 443")
	}
	out.SetText(0)
}

// loadBalancer returns the sorted and distinct addresses of a load balancer.
func loadBalancer(ingress []objectjson.Document) []string {
	var found []string
	for _, point := range ingress {
		if address := firstText(pick(point, "ip", "hostname")); address != "" {
			found = append(found, address)
		}
	}
	return distinct(found)
}

// distinct sorts strings in place and removes duplicates.
func distinct(texts []string) []string {
	lite.SortStrings(texts)
	kept := texts[:0]
	for i, text := range texts {
		if i == 0 || text != texts[i-1] {
			kept = append(kept, text)
		}
	}
	return kept
}

func printLoadBalancer(v *objectjson.Values, out *objectjson.Cells) {
	for _, address := range loadBalancer(v.All(0)) {
		addListed(out, address)
	}
	out.SetText(0)
}

// The cell indexes of a service.
const (
	serviceExternal = iota
	servicePorts
)

var servicePrinter = objectjson.Printer{
	Paths: []string{".spec.type", ".spec.externalIPs[*]", ".status.loadBalancer.ingress[*]", ".spec.externalName", ".spec.ports[*]"},
	Print: func(v *objectjson.Values, out *objectjson.Cells) {
		switch kind := v.Get(0).Text(); kind {
		case "ClusterIP", "NodePort", "LoadBalancer":
			printExternalIPs(v, out, kind == "LoadBalancer")
		case "ExternalName":
			out.AddValue(v.Get(3))
		default:
			out.Add("<unknown>")
		}
		out.SetText(serviceExternal)

		for _, port := range v.All(4) {
			var parts [3]objectjson.Document
			port.Pick(parts[:], "port", "nodePort", "protocol")
			addListed(out, "")
			out.AddValue(parts[0])
			if parts[1].Int() > 0 {
				out.Add(":")
				out.AddValue(parts[1])
			}
			out.Add("/")
			out.AddValue(parts[2])
		}
		out.SetText(servicePorts)
	},
}

func printExternalIPs(v *objectjson.Values, out *objectjson.Cells, balanced bool) {
	if balanced {
		for _, address := range loadBalancer(v.All(2)) {
			addListed(out, address)
		}
	}
	for _, ip := range v.All(1) {
		addListed(out, ip.Text())
	}
	if balanced && out.Empty() {
		out.Add("<pending>")
	}
}

// endpointsPrinter prints the first addresses of Endpoints, once for each port.
var endpointsPrinter = objectjson.Printer{
	Paths: []string{".subsets[*]"},
	Print: func(v *objectjson.Values, out *objectjson.Cells) {
		listed, count := 0, 0
		for _, subset := range v.All(0) {
			a, p := pick(subset, "addresses", "ports")
			addresses, ports := a.Elements(), p.Elements()
			if len(ports) == 0 {
				ports = []objectjson.Document{nil} // a headless service may have no ports
			}
			for _, port := range ports {
				count += len(addresses)
				for _, address := range addresses[:min(len(addresses), most-listed)] {
					addListed(out, "")
					addHostPort(out, address.Member("ip").Text(), port.Member("port"))
					listed++
				}
			}
		}
		addMore(out, count-listed)
		if len(v.All(0)) == 0 {
			out.Add("<none>")
		}
		out.SetText(0)
	},
}

// addHostPort adds an address, followed by the port if there is one. It puts an IPv6
// address with a port in brackets.
func addHostPort(out *objectjson.Cells, ip string, port objectjson.Document) {
	switch {
	case port.IsNull():
		out.Add(ip)
		return
	case strings.IndexByte(ip, ':') >= 0:
		out.Add("[" + ip + "]:")
	default:
		out.Add(ip + ":")
	}
	out.AddValue(port)
}

// printSlicePorts prints the first ports of an EndpointSlice. A port without a number is
// printed as its name. A port with neither number nor name means all ports, and is
// printed as "*".
func printSlicePorts(v *objectjson.Values, out *objectjson.Cells) {
	ports := v.All(0)
	for _, port := range ports[:min(len(ports), most)] {
		number, name := pick(port, "port", "name")
		addListed(out, "")
		switch {
		case !number.IsNull():
			out.AddValue(number)
		case !name.IsNull():
			out.AddValue(name)
		default:
			out.Add("*")
		}
	}
	addMore(out, len(ports)-most)
	out.SetText(0)
}

// ingressClassPrinter prints the parameters of an IngressClass, such as
// "Params.example.com/name".
var ingressClassPrinter = objectjson.Printer{
	Paths: []string{".spec.parameters"},
	Print: func(v *objectjson.Values, out *objectjson.Cells) {
		var parts [3]objectjson.Document
		if v.Get(0).Pick(parts[:], "kind", "apiGroup", "name"); !v.Get(0).IsNull() {
			out.AddValue(parts[0])
			if !parts[1].IsNull() {
				out.Add(".")
				out.AddValue(parts[1])
			}
			out.Add("/")
			out.AddValue(parts[2])
		}
		out.SetText(0)
	},
}

// parentPrinter prints the parent of an IPAddress, such as "services/default/web".
var parentPrinter = objectjson.Printer{
	Paths: []string{".spec.parentRef"},
	Print: func(v *objectjson.Values, out *objectjson.Cells) {
		var parts [4]objectjson.Document
		if v.Get(0).Pick(parts[:], "resource", "group", "namespace", "name"); !v.Get(0).IsNull() {
			addLower(out, parts[0].Text())
			if group := parts[1].Text(); group != "" {
				out.Add(".")
				addLower(out, group)
			}
			if namespace := parts[2].Text(); namespace != "" {
				out.Add("/" + namespace)
			}
			out.Add("/")
			out.AddValue(parts[3])
		}
		out.SetText(0)
	},
}
