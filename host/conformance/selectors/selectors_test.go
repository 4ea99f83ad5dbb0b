package selectors

import (
	"flag"
	"testing"
)

var (
	cases = flag.Int("cases", 50_000, "how many random cases of each sort to try")
	seed  = flag.Int64("seed", 1, "what the random cases are made from")
)

// finish logs the number of comparisons. It fails the test if accepted selectors, matching
// sets or non-matching sets are rare, because the test then compares too little.
func (j *judge) finish() {
	j.Helper()
	j.Logf("%d accepted, %d refused, %d sets matched, %d did not", j.accepted, j.refused, j.matched, j.missed)
	for _, n := range []int{j.accepted, j.matched, j.missed} {
		if n < (j.accepted+j.refused)/50 {
			j.Error("hardly anything was compared")
		}
	}
}

// random calls each of the given functions as often as the flag -cases specifies.
func random(t *testing.T, tries ...func(*judge)) {
	t.Parallel()
	j := newJudge(t, *seed)
	for range *cases {
		for _, try := range tries {
			try(j)
		}
		if t.Failed() {
			return
		}
	}
	j.finish()
}

func TestLabels(t *testing.T) {
	random(t,
		func(j *judge) { j.labelText(j.source.labelText()) },
		func(j *judge) { j.labelText(j.mutate(j.source.labelText(), labelBytes)) },
		func(j *judge) { j.labelText(j.noise(labelBytes)) },
	)
}

func TestLongLabels(t *testing.T) {
	random(t, func(j *judge) {
		if j.oneIn(10) {
			j.labelText(j.longLabelText())
		}
	})
}

func TestFields(t *testing.T) {
	random(t,
		func(j *judge) { j.fieldText(j.source.fieldText()) },
		func(j *judge) { j.fieldText(j.mutate(j.source.fieldText(), fieldBytes)) },
		func(j *judge) { j.fieldText(j.noise(fieldBytes)) },
	)
}

func TestBuiltRequirements(t *testing.T) { random(t, (*judge).builtRequirement) }

func TestSelectorsOfLabelSets(t *testing.T) { random(t, (*judge).fromSet) }

// With these lengths, the test takes a second. Each further token makes it ten times slower.
func TestEveryShortString(t *testing.T) {
	t.Parallel()
	j := newJudge(t, *seed)
	everyString("", []string{"a", "=", "!", ",", "(", ")", " ", ">", "in", "\x00", "1"}, 5, j.labelText)
	everyString("a in (", []string{"a", ",", ")", " ", "\x00"}, 7, j.labelText)
	everyString("a notin", []string{"a", ",", "(", ")", " ", "="}, 6, j.labelText)
	everyString("", []string{"a", "=", "!", ",", "\\", "b", "\xff"}, 6, j.fieldText)
	j.Logf("%d accepted, %d refused", j.accepted, j.refused)
}

// The test generates label sets for the requirements in the text, so the fuzzer generates
// only a text and a seed.
func FuzzLabels(f *testing.F) {
	for _, text := range []string{
		"", "a", "!a", "a=1,b!=2", "x.y/a in (a,,b), !in", "notin notin (in)", "a>1,a<9", "a\x00=b", "a in (b\x00)", "a===b",
	} {
		f.Add(text, int64(1))
	}
	f.Fuzz(func(t *testing.T, text string, seed int64) { newJudge(t, seed).labelText(text) })
}

func FuzzFields(f *testing.F) {
	for _, text := range []string{"", "=", "a=x,b!=y", `a=\,\=\\`, "a==!b,,c=", "a=\xff\\,", "metadata.name=x", "a===b", `a\,b=x`} {
		f.Add(text, int64(1))
	}
	f.Fuzz(func(t *testing.T, text string, seed int64) { newJudge(t, seed).fieldText(text) })
}
