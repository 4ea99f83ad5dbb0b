package store

import (
	"math/rand"
	"strconv"
	"strings"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/wire"
)

// put stores an object with a body of n bytes.
func put(h *Arena, key api.Key, rv api.ResourceVersion, n int, labels ...string) Ref {
	o := api.Object{Key: key, Body: api.Body{Codec: api.JSON, Data: []byte(strings.Repeat("x", n))}}
	return h.Put(Version{
		ResourceVersion: rv, LabelSet: h.Labels.Intern(labelsOf(labels...)), Envelope: wire.AppendEnvelope(nil, &o),
	})
}

func labelsOf(pairs ...string) api.Labels {
	var l api.Labels
	for i := 0; i < len(pairs); i += 2 {
		l = append(l, api.Label{Key: pairs[i], Value: pairs[i+1]})
	}
	return l
}

func keyOf(n int) api.Key { return api.Key("ns-" + strconv.Itoa(n%7) + "/name-" + strconv.Itoa(n)) }

func randomOf(seed int64) *rand.Rand { return rand.New(rand.NewSource(seed)) }
