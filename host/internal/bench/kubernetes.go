package main

import (
	"bytes"
	"io"
	"strconv"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/host/source"
)

// kubernetes writes changes in the format of a kube-apiserver: first a list, then watch
// events.
type kubernetes struct {
	list    io.Writer
	lines   func([]byte) // receives the lines of a batch
	objects int
	batch   int

	listed  int
	pending []byte
	events  int
}

func (k *kubernetes) tap(t api.EventType, c source.Change) {
	if t == api.Added {
		k.item(c)
		return
	}
	k.pending = append(appendEvent(k.pending, c), '\n')
	if k.events++; k.events%k.batch == 0 {
		k.lines(k.pending)
		k.pending = k.pending[:0]
	}
}

func (k *kubernetes) item(c source.Change) {
	if k.listed == 0 {
		io.WriteString(k.list, `{"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":"`+strconv.Itoa(k.objects)+`"},"items":[`)
	} else {
		io.WriteString(k.list, ",")
	}
	k.listed++
	k.list.Write(appendItem(nil, c))
	if k.listed == k.objects {
		io.WriteString(k.list, "]}\n")
	}
}

// appendEvent appends the watch event of a change, without the line break.
func appendEvent(dst []byte, c source.Change) []byte {
	dst = append(dst, `{"type":"MODIFIED","object":`...)
	dst = appendVersioned(dst, c.Value, c.ResourceVersion)
	return append(dst, '}')
}

// appendItem appends the changed object as an item of a list, without its kind and
// apiVersion.
func appendItem(dst []byte, c source.Change) []byte {
	at := bytes.Index(c.Value, []byte(`"metadata":`))
	return appendVersioned(append(dst, '{'), c.Value[at:], c.ResourceVersion)
}

// appendVersioned appends a value with its resource version, which etcd does not store
// in the value. The first "metadata" in the value is the metadata of the object,
// because keys are sorted, and only apiVersion, data and kind precede it.
func appendVersioned(dst, value []byte, rv api.ResourceVersion) []byte {
	metadata := []byte(`"metadata":{`)
	at := bytes.Index(value, metadata) + len(metadata)
	dst = append(dst, value[:at]...)
	dst = append(dst, `"resourceVersion":"`+rv.String()+`",`...)
	return append(dst, value[at:]...)
}
