package main

import (
	"bytes"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"strconv"
	"strings"

	"github.com/watchglass/watchglass/core/objectjson"
	"github.com/watchglass/watchglass/core/query"
)

// findBytes searches blocks of memory for a byte that also occurs directly before and
// after the block.
func findBytes() {
	var result []byte // fmt would take more time than the tested code
	for length := range 70 {
		digest, found := fnv.New64a(), 0
		for start := range 18 {
			for at := range length + 1 {
				for _, char := range []byte{0, 'x', 0x7f, 0x80, 0xff} {
					memory := bytes.Repeat([]byte{char ^ 0x80}, start+length+20)
					text := memory[start : start+length]
					memory[start+length], memory[start+at] = char, char
					memory[start+(at+length)/2] = char
					if start > 0 {
						memory[start-1] = char
					}
					i := bytes.IndexByte(text, char)
					if i >= 0 {
						found++
					}
					result = strconv.AppendInt(result[:0], int64(i), 10)
					_, _ = digest.Write(append(result, ' '))
				}
			}
		}
		fmt.Println("bytes", length, found, digest.Sum64())
	}
}

// findWords searches texts for words that also occur across the start and the end of the text.
func findWords() {
	chance := rand.New(rand.NewPCG(1, 7))
	for length := range 70 {
		digest, found := fnv.New64a(), 0
		for range 500 {
			word := "wo-rk"[:2+chance.IntN(4)]
			memory := []byte(strings.Repeat(word, 50))
			start := chance.IntN(20)
			text := memory[start : start+length]
			for i := range text {
				text[i] = word[chance.IntN(len(word))]
			}
			search, status := query.ParseSearch(word)
			if status != nil {
				panic(status.Message)
			}
			matches := search.MatchesText(text, 0, 0)
			if matches {
				found++
			}
			fmt.Fprint(digest, matches)
		}
		fmt.Println("words", length, found, digest.Sum64())
	}
}

// findEnds finds the ends of valid and invalid JSON values that arrive in pieces.
func findEnds() {
	alphabets := []string{`{{{}}}[[]]""""\\\\ az#|,:` + "\x00\x7f\xfb\xdb\xdd\xa2\xdc", `{}[]"",:`, `{}"\`, `\\\\\"{}`, `{[ab]}`}
	chance := rand.New(rand.NewPCG(1, 6))
	for round := range 300 {
		digest, ended := fnv.New64a(), 0
		for range 100 {
			alphabet := alphabets[chance.IntN(len(alphabets))]
			text := make([]byte, 1+chance.IntN(1+chance.IntN(300)))
			for i := range text {
				text[i] = alphabet[chance.IntN(len(alphabet))]
			}
			text[0] = '{'
			if chance.IntN(2) == 0 {
				text = sound(chance, 5)
			}
			end, complete := inPieces(chance, text)
			if complete {
				ended++
			}
			fmt.Fprint(digest, end, complete, " ")
		}
		fmt.Println("ends", round, ended, digest.Sum64())
	}
}

// inPieces returns the end of a value that arrives in pieces, and whether it found the
// end.
func inPieces(chance *rand.Rand, text []byte) (end int, complete bool) {
	var span objectjson.Span
	for at := 0; at < len(text); {
		n := 1 + chance.IntN(len(text)-at)
		if end, complete = span.Find(text[:at+n], at); complete {
			return end, true
		}
		at += n
	}
	return end, false
}

// sound returns a valid JSON value with random strings, nested at most depth levels deep.
func sound(chance *rand.Rand, depth int) []byte {
	switch chance.IntN(3) {
	case 0:
		if depth > 0 {
			list := []byte{'['}
			for range chance.IntN(6) {
				list = append(append(list, sound(chance, depth-1)...), ',')
			}
			return append(bytes.TrimSuffix(list, []byte{','}), ']')
		}
	case 1:
		if depth > 0 {
			object := []byte{'{'}
			for range chance.IntN(6) {
				object = append(append(object, text(chance)...), ':')
				object = append(append(object, sound(chance, depth-1)...), ',')
			}
			return append(bytes.TrimSuffix(object, []byte{','}), '}')
		}
	}
	return text(chance)
}

func text(chance *rand.Rand) []byte {
	const signs = `"\{}[]ab`
	var b []byte
	for range chance.IntN(30) {
		b = append(b, signs[chance.IntN(len(signs))])
	}
	return fmt.Appendf(nil, "%q", b)
}
