package api

import (
	"strconv"
	"strings"

	"github.com/watchglass/watchglass/core/internal/lite"
)

// Shard is a subset of the namespaces of a resource: those whose hash modulo
// Count equals Index. The assignment depends only on the name of the namespace
// and on Count. The zero Shard contains every namespace.
type Shard struct{ Index, Count uint32 }

// Whole reports whether the shard contains every namespace.
func (s Shard) Whole() bool { return s.Count == 0 }

// Has reports whether the shard contains the namespace.
func (s Shard) Has(namespace string) bool {
	return s.Whole() || ShardOf(namespace, s.Count).Index == s.Index
}

// ShardOf returns the one of count shards that contains the namespace. The hash is
// 32-bit FNV-1a over the bytes of the name.
func ShardOf(namespace string, count uint32) Shard {
	hash := uint32(2166136261)
	for i := range len(namespace) {
		hash = (hash ^ uint32(namespace[i])) * 16777619
	}
	return Shard{hash % count, count}
}

// String returns the form that [ParseShard] parses, such as "3-of-16", or "" for
// the zero Shard.
func (s Shard) String() string {
	if s.Whole() {
		return ""
	}
	return strconv.FormatUint(uint64(s.Index), 10) + "-of-" + strconv.FormatUint(uint64(s.Count), 10)
}

// ParseShard parses the output of String and rejects everything else.
func ParseShard(text string) (Shard, *Status) {
	index, count, _ := strings.Cut(text, "-of-")
	i, known := lite.ParseUint(index)
	n, bounded := lite.ParseUint(count)
	s := Shard{uint32(i), uint32(n)}
	if text != "" && (!known || !bounded || i >= n) || s.String() != text {
		return Shard{}, BadRequest("invalid shard " + lite.Quote(text) + ": expected INDEX-of-COUNT, such as 0-of-16")
	}
	return s, nil
}
