package envelope

// What the tests look at from inside.
var (
	ParseDate      = parseDate
	DaysSinceEpoch = daysSinceEpoch
)
