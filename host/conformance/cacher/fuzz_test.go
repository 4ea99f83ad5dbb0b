package cacher

import (
	"math/rand"
	"testing"
)

// tape is a chance that takes its choices from bytes. After the last byte, it uses a random
// generator with a fixed seed, so that a loop that waits for a certain choice terminates.
type tape struct {
	data []byte
	rest *rand.Rand
}

func (t *tape) Intn(n int) int {
	if len(t.data) == 0 {
		return t.rest.Intn(n)
	}
	choice := 0
	for most := n - 1; most > 0 && len(t.data) > 0; most >>= 8 {
		choice = choice<<8 | int(t.data[0])
		t.data = t.data[1:]
	}
	return choice % n
}

// A longer input of the fuzzer results in more steps. The flag -steps limits a run,
// because the fuzzer reports an input that takes a second as a hang.
func FuzzWorld(f *testing.F) {
	random := rand.New(rand.NewSource(*seed))
	for range 8 {
		program := make([]byte, 600)
		random.Read(program)
		f.Add(program)
	}
	f.Fuzz(func(t *testing.T, program []byte) {
		choices := &tape{program, rand.New(rand.NewSource(1))}
		w := newWorld(t, choices)
		w.hurried = true
		w.beginAsked()
		for n := 0; n < *steps && len(choices.data) > 0; n++ {
			w.step()
		}
		w.end()
	})
}
