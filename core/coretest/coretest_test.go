package coretest_test

import (
	"flag"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/watchglass/watchglass/core/coretest"
)

var rewrite = flag.Bool("rewrite", false, "rewrite the expected output in testdata/scenarios")

var dir = filepath.Join("..", "..", "testdata", "scenarios")

func TestScenarios(t *testing.T) {
	all, err := coretest.LoadAll(dir)
	require.NoError(t, err)
	for _, s := range all {
		t.Run(s.Name, func(t *testing.T) {
			if *rewrite {
				require.NoError(t, s.Rewrite())
				return
			}
			if err := s.Check(); err != nil {
				t.Fatal(err)
			}
		})
	}
}
