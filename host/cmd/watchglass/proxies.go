package main

import (
	"fmt"
	"net/netip"
	"strings"
)

// proxies is the value of --trusted-proxy. It implements pflag.Value and
// pflag.SliceValue.
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

func (p *proxies) String() string { return strings.Join(p.GetSlice(), ",") }

func (p *proxies) Type() string { return "network" }

// Append implements pflag.SliceValue.
func (p *proxies) Append(text string) error { return p.Set(text) }

// Replace implements pflag.SliceValue.
func (p *proxies) Replace(texts []string) error {
	*p = nil
	for _, text := range texts {
		if err := p.Set(text); err != nil {
			return err
		}
	}
	return nil
}

// GetSlice implements pflag.SliceValue.
func (p *proxies) GetSlice() []string {
	texts := make([]string, len(*p))
	for i, prefix := range *p {
		texts[i] = prefix.String()
	}
	return texts
}
