package kubeapi

import (
	"cmp"
	"mime"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/watchglass/watchglass/core/api"
)

const contentType = "application/json"

// These constants are the supported values of the media type parameter "as", which requests
// a conversion.
const (
	asObject       = ""
	asTable        = "Table"
	asMetadata     = "PartialObjectMetadata"
	asMetadataList = "PartialObjectMetadataList"
	asDiscovery    = "APIGroupDiscoveryList"
)

// conversion identifies a representation by the media type parameters "as", "g" and "v".
// The zero value means plain JSON.
type conversion struct{ as, group, version string }

const (
	metaGroup      = "meta.k8s.io"
	discoveryGroup = "apidiscovery.k8s.io"
)

// clause is one media type of an Accept header.
type clause struct {
	mediaType string
	params    map[string]string
	quality   float64
}

// maxClauses is the number of valid clauses after which parsing stops, so that a hostile
// header cannot cause much work. kubectl sends three clauses.
const maxClauses = 32

// negotiate selects the client's preferred representation among plain JSON and the offered
// conversions (rules P3, P12, P13). It skips clauses that are malformed, name another
// encoding, or request a conversion that is not offered. If no clause remains, negotiate
// returns a 406. Without an Accept header, negotiate selects plain JSON.
func negotiate(header http.Header, offered ...conversion) (conversion, *api.Status) {
	accept := strings.Join(header.Values("Accept"), ",")
	if strings.TrimSpace(accept) == "" {
		return conversion{}, nil
	}
	for _, c := range parseAccept(accept) {
		if c.mediaType != contentType && c.mediaType != "application/*" && c.mediaType != "*/*" || c.quality == 0 {
			continue
		}
		if stream, ok := c.params["stream"]; ok && stream != "watch" {
			continue
		}
		wanted := conversion{c.params["as"], c.params["g"], c.params["v"]}
		if wanted == (conversion{}) || slices.Contains(offered, wanted) {
			return wanted, nil
		}
	}
	message := "only the following media types are accepted: " + contentType
	for _, o := range offered {
		message += ", " + contentType + o.params()
	}
	return conversion{}, &api.Status{Code: http.StatusNotAcceptable, Reason: reasonNotAcceptable, Message: message}
}

func (c conversion) params() string { return ";g=" + c.group + ";v=" + c.version + ";as=" + c.as }

// parseAccept returns the valid clauses of an Accept header in descending order of quality.
// Clauses of equal quality keep their order in the header.
func parseAccept(accept string) []clause {
	var clauses []clause
	for text := range strings.SplitSeq(accept, ",") {
		mediaType, params, err := mime.ParseMediaType(text)
		if err != nil {
			continue
		}
		c := clause{mediaType, params, 1}
		if q, ok := params["q"]; ok {
			if c.quality, err = strconv.ParseFloat(q, 64); err != nil || !(c.quality >= 0 && c.quality <= 1) {
				continue
			}
		}
		if clauses = append(clauses, c); len(clauses) == maxClauses {
			break
		}
	}
	slices.SortStableFunc(clauses, func(a, b clause) int { return cmp.Compare(b.quality, a.quality) })
	return clauses
}
