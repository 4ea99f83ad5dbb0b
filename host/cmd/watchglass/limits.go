package main

import (
	"github.com/spf13/pflag"

	"github.com/watchglass/watchglass/host/limit"
)

// addLimits adds a flag for every limit and returns the Set that the flags write to.
func addLimits(flags *pflag.FlagSet) *limit.Set {
	set := limit.NewSet()
	for _, l := range limit.All() {
		flags.Var(&limitValue{set, l}, l.Name, l.Help)
		if l.Automatic != "" {
			flags.Lookup(l.Name).DefValue = l.Automatic
		}
	}
	return set
}

// limitValue is the flag of one limit. It implements pflag.Value.
type limitValue struct {
	set   *limit.Set
	limit *limit.Limit
}

func (v *limitValue) String() string {
	if v.limit == nil {
		return ""
	}
	return limit.Format(v.limit.Unit, v.set.Value(v.limit))
}

func (v *limitValue) Set(text string) error {
	value, err := limit.Parse(v.limit.Unit, text)
	if err == nil {
		v.set.With(v.limit, value)
	}
	return err
}

func (v *limitValue) Type() string {
	switch v.limit.Unit {
	case limit.Bytes:
		return "size"
	case limit.Duration:
		return "duration"
	}
	return "int"
}
