package cacher_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

// An unused dictionary is dropped, so a reader that switches connectors does not
// accumulate dictionaries.
func TestUnusedDictionariesAreForgotten(t *testing.T) {
	w := listed(t, 10)
	w.Bodies().SetDictionary([]byte("never used"))
	numbers := map[uint32]bool{}
	for rv := 11; rv <= 30; rv++ {
		dictionary := []byte{'d', byte(rv)}
		w.Bodies().SetDictionary(dictionary)
		number, _ := w.Bodies().Current()
		assert.False(t, numbers[number], "a reader may still hold the dictionary with this number")
		numbers[number] = true
		item := "ns/a rv=" + w.ResourceVersion().String() + "0"
		w.list(w.ResourceVersion()+10, item, "ns/b rv=1")
		assert.Equal(t, dictionary, w.Bodies().Dictionary(w.State().Get("ns/a")))
		assert.LessOrEqual(t, w.Bodies().UsedBytes(), 2*len(dictionary), "the dictionaries of the current and the previous state")
	}
	w.assertNoLeak()
}

// A dictionary is retained while any version needs it, even if that version is only
// in the history or the base of another version.
func TestDictionariesOfOldVersionsStay(t *testing.T) {
	w := listed(t, 10)
	w.Bodies().SetDictionary([]byte("one"))
	w.do("ns/a rv=11")
	first := w.State().Get("ns/a")
	for rv, dictionary := range []string{"two", "three", "four"} {
		w.Bodies().SetDictionary([]byte(dictionary))
		w.do("ns/a rv=2" + string(rune('0'+rv)))
	}
	assert.Equal(t, "one", string(w.Bodies().Dictionary(first)), "the history retains it")
	assert.Equal(t, len("one"+"two"+"three"+"four"), w.Bodies().UsedBytes())
	w.list(30)
	w.Bodies().SetDictionary([]byte("five"))
	assert.Equal(t, len("five"), w.Bodies().UsedBytes(), "a relist replaces the history")
}
