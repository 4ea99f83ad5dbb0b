package api

import (
	"strconv"
	"strings"
)

// Shard is one of several parts that the namespaces of a resource are divided
// into: those whose hash is Index, modulo Count. A namespace is in the same part
// wherever and whenever it is asked for, and no list says which there are. The
// zero Shard is everything.
type Shard struct{ Index, Count uint32 }

// Whole reports whether the shard is everything.
func (s Shard) Whole() bool { return s.Count == 0 }

// Has reports whether a namespace lies in the shard.
func (s Shard) Has(namespace string) bool {
	return s.Whole() || ShardOf(namespace, s.Count).Index == s.Index
}

// ShardOf is the one of count shards that a namespace lies in. The hash is FNV-1a
// of 32 bits over the bytes of the name.
func ShardOf(namespace string, count uint32) Shard {
	hash := uint32(2166136261)
	for i := range len(namespace) {
		hash = (hash ^ uint32(namespace[i])) * 16777619
	}
	return Shard{hash % count, count}
}

// String is "3-of-16", the form that [ParseShard] reads; everything is "".
func (s Shard) String() string {
	if s.Whole() {
		return ""
	}
	return strconv.FormatUint(uint64(s.Index), 10) + "-of-" + strconv.FormatUint(uint64(s.Count), 10)
}

// ParseShard reads what String writes, and nothing else.
func ParseShard(text string) (Shard, *Status) {
	index, count, _ := strings.Cut(text, "-of-")
	i, known := ParseUint(index)
	n, bounded := ParseUint(count)
	s := Shard{uint32(i), uint32(n)}
	if text != "" && (!known || !bounded || i >= n) || s.String() != text {
		return Shard{}, BadRequest("invalid shard " + Quote(text) + ": expected a number and how many there are, such as 0-of-16")
	}
	return s, nil
}
