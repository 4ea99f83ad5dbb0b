//go:build refdebug

package objcache

import (
	"runtime"
	"strconv"
	"strings"
)

// Debug reports whether references are recorded.
const Debug = true

// record stores when and where each reference was added. Removing a reference drops the
// newest record, because the references of an owner are interchangeable.
type record struct {
	taken []taken
}

type taken struct {
	at    int64
	stack []uintptr
}

func (r *record) add(now int64) {
	stack := make([]uintptr, 16)
	// Skip Callers, this method, refs.add and Cache.Add.
	r.taken = append(r.taken, taken{now, stack[:runtime.Callers(4, stack)]})
}

func (r *record) remove() { r.taken = r.taken[:len(r.taken)-1] }

func (r *record) strings() []string {
	var texts []string
	for _, t := range r.taken {
		var b strings.Builder
		b.WriteString("at " + strconv.FormatInt(t.at, 10) + "ms")
		for frames, more := runtime.CallersFrames(t.stack), true; more; {
			var f runtime.Frame
			f, more = frames.Next()
			b.WriteString("\n\t" + f.Function + " " + f.File + ":" + strconv.Itoa(f.Line))
		}
		texts = append(texts, b.String())
	}
	return texts
}
