package age_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/watchglass/watchglass/host/internal/age"
)

func TestString(t *testing.T) {
	const day = 24 * time.Hour
	for given, want := range map[time.Duration]string{
		-5 * time.Second:               "<invalid>",
		-time.Second / 2:               "0s",
		0:                              "0s",
		59 * time.Second:               "59s",
		119 * time.Second:              "119s",
		2 * time.Minute:                "2m",
		3*time.Minute + 7*time.Second:  "3m7s",
		10*time.Minute + 7*time.Second: "10m",
		179 * time.Minute:              "179m",
		3 * time.Hour:                  "3h",
		7*time.Hour + 59*time.Minute:   "7h59m",
		47 * time.Hour:                 "47h",
		2 * day:                        "2d",
		3*day + 5*time.Hour:            "3d5h",
		8*day + 5*time.Hour:            "8d",
		729 * day:                      "729d",
		730 * day:                      "2y",
		3*365*day + 10*day:             "3y10d",
		9*365*day + 10*day:             "9y",
	} {
		assert.Equal(t, want, age.String(given), given)
	}
}
