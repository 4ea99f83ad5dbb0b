//go:build mutant

package sim_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/sim"
)

// Every deliberate bug is caught.
func TestMutants(t *testing.T) {
	const most = 2000
	caught := 0
	for _, m := range api.Mutations() {
		api.Mutate(m)
		seed := uint64(1)
		var r *sim.Result
		for ; seed <= most; seed++ {
			if r = sim.Run(seed, sim.Program(seed), sim.Setup{}); r.Err != nil {
				break
			}
		}
		if r.Err == nil {
			t.Errorf("%v: not caught in %d seeds", m, most)
			continue
		}
		caught++
		err := r.Err
		for inner := errors.Unwrap(err); inner != nil; inner = errors.Unwrap(inner) {
			err = inner
		}
		fmt.Printf("%-42s seed %4d  %v\n", m, seed, err)
	}
	api.Mutate(api.NoMutation)
	fmt.Printf("mutants: %d/%d caught\n", caught, len(api.Mutations()))
}
