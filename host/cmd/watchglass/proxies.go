package main

import (
	"fmt"
	"net/netip"
	"strings"
)

// proxies is the value of --trusted-proxy. It implements pflag.Value.
type proxies []netip.Prefix

// Set adds addresses and networks, separated by commas.
func (p *proxies) Set(text string) error {
	for one := range strings.SplitSeq(text, ",") {
		prefix, err := netip.ParsePrefix(one)
		if address, failed := netip.ParseAddr(one); err != nil && failed == nil {
			prefix, err = address.Prefix(address.BitLen())
		}
		if err != nil {
			return fmt.Errorf("%q: expected an address such as 10.0.0.1, or a network such as 10.0.0.0/8", one)
		}
		*p = append(*p, prefix.Masked())
	}
	return nil
}

func (p *proxies) String() string {
	texts := make([]string, len(*p))
	for i, prefix := range *p {
		texts[i] = prefix.String()
	}
	return strings.Join(texts, ",")
}

func (p *proxies) Type() string { return "network" }
