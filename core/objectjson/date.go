package objectjson

// ParseDate parses an RFC 3339 timestamp such as "2026-10-01T12:00:00.25+02:00" to
// milliseconds since the epoch. It accepts only the syntax of RFC 3339, truncates
// fractions to milliseconds, and rejects leap seconds.
func ParseDate(text []byte) (millis int64, ok bool) {
	if len(text) < len("2006-01-02T15:04:05Z") ||
		text[4] != '-' || text[7] != '-' || text[10] != 'T' || text[13] != ':' || text[16] != ':' {
		return 0, false
	}
	year := digits(text[0:4], 0, 9999)
	month := digits(text[5:7], 1, 12)
	if year < 0 || month < 0 {
		return 0, false
	}
	day := digits(text[8:10], 1, daysIn(year, month))
	hour := digits(text[11:13], 0, 23)
	minute := digits(text[14:16], 0, 59)
	second := digits(text[17:19], 0, 59)
	fraction, zone, ok := splitFraction(text[19:])
	offset, zoneOK := parseZone(zone)
	if day < 0 || hour < 0 || minute < 0 || second < 0 || !ok || !zoneOK {
		return 0, false
	}
	minutes := int64(daysSinceEpoch(year, month, day))*24*60 + int64(hour*60+minute-offset)
	return (minutes*60+int64(second))*1000 + int64(fraction), true
}

// digits returns the number that the text contains, or -1 if the text is not a number
// between low and high.
//
//go:noinline
func digits(text []byte, low, high int) int {
	n := 0
	for _, c := range text {
		if !isDigit(c) {
			return -1
		}
		n = n*10 + int(c-'0')
	}
	if n < low || n > high {
		return -1
	}
	return n
}

// splitFraction removes an optional fraction such as ".123" from the front of the text.
// It returns the fraction in milliseconds and the rest of the text, or false for a point
// without digits.
func splitFraction(text []byte) (millis int, rest []byte, ok bool) {
	if at(text, 0) != '.' {
		return 0, text, true
	}
	i := 1
	for unit := 100; isDigit(at(text, i)); i++ {
		millis += unit * int(text[i]-'0')
		unit /= 10
	}
	return millis, text[i:], i > 1
}

// parseZone returns the offset of a zone such as "Z" or "+02:00" in minutes, and false
// for other texts.
func parseZone(text []byte) (minutes int, ok bool) {
	if len(text) == 1 && text[0] == 'Z' {
		return 0, true
	}
	if len(text) != len("+00:00") || text[3] != ':' {
		return 0, false
	}
	hour, minute := digits(text[1:3], 0, 23), digits(text[4:6], 0, 59)
	minutes, ok = hour*60+minute, hour >= 0 && minute >= 0
	switch text[0] {
	case '+':
		return minutes, ok
	case '-':
		return -minutes, ok
	}
	return 0, false
}

func daysIn(year, month int) int {
	switch month {
	case 2:
		if year%4 == 0 && (year%100 != 0 || year%400 == 0) {
			return 29
		}
		return 28
	case 4, 6, 9, 11:
		return 30
	}
	return 31
}

// daysSinceEpoch returns the number of days since 1970-01-01 in the proleptic Gregorian
// calendar. The computation starts years in March, so that the leap day is the last day
// of a year. The calendar repeats every 400 years, which the code calls an era.
func daysSinceEpoch(year, month, day int) int {
	const perEra, toEpoch = 146097, 719468 // days in 400 years; from 0000-03-01 to 1970-01-01
	year, month = year+400, month-3        // one more era, so that no year is negative
	if month < 0 {
		year, month = year-1, month+12
	}
	era, y := year/400, year%400
	return (era-1)*perEra + y*365 + y/4 - y/100 + (153*month+2)/5 + day - 1 - toEpoch
}
