// Package limit contains the table of resource limits of a watchglass server.
//
// The table has one row per limit: its name, default, unit, and the HTTP status code of a
// refusal. The name is the command line flag, the Cause of the Status that a client receives,
// and the reason label of watchglass_limit_refusals_total. The output of inspect uses the name
// too. A Set holds the values in force and counts refusals.
//
// To add a limit, add a variable with define, and call Refuse where the limit applies. The flag,
// the metric and the inspect output follow from the table.
package limit
