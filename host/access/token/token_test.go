package token_test

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"flag"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/host/access"
	"github.com/watchglass/watchglass/host/access/token"
)

var update = flag.Bool("update", false, "rewrite the vectors")

const (
	vectorsFile = "../../../testdata/tokens/vectors.json"
	oldKey      = "an-old-key-that-is-for-tests-and-for-nothing-else"
	newKey      = "a-new-key-that-is-for-tests-and-for-nothing-else"
	otherKey    = "somebody-elses-key-that-is-for-tests-and-nothing-else"
)

var now = time.Unix(1_800_000_000, 0)

// vector is a token with the expected result. The tests of Go and JavaScript
// read the same file of vectors.
type vector struct {
	Name    string  `json:"name"`
	Token   string  `json:"token"`
	Message string  `json:"message,omitempty"` // of the 401
	Claims  *claims `json:"claims,omitempty"`
}

type claims struct {
	User       string   `json:"user"`
	Cluster    string   `json:"cluster"`
	Resources  []string `json:"resources"`
	Namespaces []string `json:"namespaces"`
	Feed       bool     `json:"feed"`
	Expires    int64    `json:"expires"`
}

type vectors struct {
	Keys    string   `json:"keys"`
	Now     int64    `json:"now"`
	Vectors []vector `json:"vectors"`
}

func keys(t *testing.T, text string) token.Keys {
	t.Helper()
	k, err := token.ParseKeys(text)
	require.NoError(t, err)
	return k
}

// forge signs any header and payload.
func forge(header, payload, key string) string {
	text := base64.RawURLEncoding.EncodeToString([]byte(header)) + "." + base64.RawURLEncoding.EncodeToString([]byte(payload))
	mac := hmac.New(sha256.New, []byte(key))
	mac.Write([]byte(text))
	return text + "." + base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
}

const (
	hs256  = `{"alg":"HS256","typ":"JWT"}`
	reader = `{"iss":"watchglass","sub":"ada","exp":1800003600,"cluster":"demo","resources":["v1/pods"],"namespaces":["shop"]}`
)

func with(change, to string) string { return strings.Replace(reader, change, to, 1) }

const base64url = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"

func tokens(t *testing.T) map[string]string {
	t.Helper()
	minted, err := keys(t, newKey).Sign(token.Claims{
		User: "ada", Cluster: "demo", Resources: []string{"v1/pods", "apps/v1/deployments"}, Namespaces: []string{"shop", "web"}, Expires: now.Add(time.Hour),
	}, now)
	require.NoError(t, err)
	feed, err := keys(t, newKey).Sign(token.Claims{
		Cluster: "demo", Resources: []string{token.Any}, Namespaces: []string{token.Any}, Feed: true, Expires: now.Add(time.Second),
	}, now)
	require.NoError(t, err)
	good := forge(hs256, reader, newKey)
	head, signature := good[:strings.LastIndexByte(good, '.')], good[strings.LastIndexByte(good, '.')+1:]
	unsigned := forge(`{"alg":"none"}`, reader, newKey)
	unsigned = unsigned[:strings.LastIndexByte(unsigned, '.')+1]
	return map[string]string{
		"minted":                         minted,
		"for feeding":                    feed,
		"of the key before":              forge(hs256, reader, oldKey),
		"that is valid since now":        forge(hs256, with(`"exp"`, `"nbf":1800000000,"exp"`), newKey),
		"that ended in this very second": forge(hs256, with("1800003600", "1800000000.5"), newKey),
		"that grants nothing":            forge(hs256, `{"iss":"watchglass","exp":1800003600}`, newKey),
		"that is missing":                "",
		"that is too long":               strings.Repeat("a", token.MaxBytes+1),
		"of one word":                    "secret",
		"of two parts":                   head,
		"of four parts":                  good + ".",
		"that is not base64url":          "+" + good,
		"with padding":                   good + "=",
		"with a newline":                 good + "\n",
		"with a newline in its header":   good[:4] + "\n" + good[4:],
		"whose last bits are not zero":   good[:len(good)-1] + string(base64url[strings.IndexByte(base64url, good[len(good)-1])+1]),
		"whose header is no JSON":        forge("x", reader, newKey),
		"whose header is no object":      forge("null", reader, newKey),
		"whose payload is no JSON":       forge(hs256, "x", newKey),
		"whose resources are no list":    forge(hs256, with(`["v1/pods"]`, `"v1/pods"`), newKey),
		"whose resources are no text":    forge(hs256, with(`["v1/pods"]`, `[1]`), newKey),
		"whose feed is no boolean":       forge(hs256, with(`"cluster"`, `"feed":1,"cluster"`), newKey),
		"that is unsigned":               head + ".",
		"of algorithm none":              unsigned,
		"of algorithm none, signed":      forge(`{"alg":"none"}`, reader, newKey),
		"of algorithm HS512":             forge(`{"alg":"HS512"}`, reader, newKey),
		"of algorithm RS256":             forge(`{"alg":"RS256"}`, reader, newKey),
		"of an unknown algorithm":        forge(`{"alg":"hs256"}`, reader, newKey),
		"without an algorithm":           forge(`{"typ":"JWT"}`, reader, newKey),
		"of another key":                 forge(hs256, reader, otherKey),
		"signed for another payload":     forge(hs256, with("shop", "bank"), newKey)[:len(head)] + "." + signature,
		"whose signature is cut":         good[:len(good)-1],
		"whose signature is longer":      good + "AAAA",
		"that has expired":               forge(hs256, with("1800003600", "1799999999"), newKey),
		"that expires now":               forge(hs256, with("1800003600", "1800000000"), newKey),
		"that is expired and not yet":    forge(hs256, with("1800003600", `1799999999,"nbf":1800000001`), newKey),
		"that is not valid yet":          forge(hs256, with(`"exp"`, `"nbf":1800000001,"exp"`), newKey),
		"that never ends":                forge(hs256, with(`"exp":1800003600,`, ""), newKey),
		"of another issuer":              forge(hs256, with(`"iss":"watchglass"`, `"iss":"kubernetes"`), newKey),
		"of no issuer":                   forge(hs256, with(`"iss":"watchglass",`, ""), newKey),
		"that has expired and is forged": forge(hs256, with("1800003600", "1799999999"), otherKey),
	}
}

// Verify returns the recorded result for each vector. The JavaScript tests use the same
// file.
func TestVerify(t *testing.T) {
	all := keys(t, newKey+"\n"+oldKey)
	if *update {
		rewrite(t, all)
	}
	text, err := os.ReadFile(vectorsFile)
	require.NoError(t, err)
	var file vectors
	require.NoError(t, json.Unmarshal(text, &file))
	assert.Len(t, file.Vectors, len(tokens(t)), "run go test ./host/access/token -update")
	require.Equal(t, now.Unix(), file.Now)
	granted := 0
	for _, v := range file.Vectors {
		got, status := keys(t, file.Keys).Verify(v.Token, now)
		if v.Claims != nil {
			granted++
			require.Nil(t, status, v.Name)
			assert.Equal(t, v.Claims, claimsOf(got), v.Name)
			continue
		}
		require.NotNil(t, status, v.Name)
		assert.Equal(t, api.Unauthorized(v.Message), status, v.Name)
		assert.Nil(t, got, v.Name)
	}
	assert.Equal(t, 5, granted)
}

func claimsOf(c *token.Claims) *claims {
	return &claims{c.User, c.Cluster, orNone(c.Resources), orNone(c.Namespaces), c.Feed, c.Expires.Unix()}
}

func orNone(names []string) []string { return append([]string{}, names...) }

func rewrite(t *testing.T, all token.Keys) {
	t.Helper()
	file := vectors{Keys: newKey + "\n" + oldKey + "\n", Now: now.Unix()}
	made := tokens(t)
	for _, name := range slices.Sorted(maps.Keys(made)) {
		v := vector{Name: "a token " + name, Token: made[name]}
		if c, status := all.Verify(v.Token, now); status != nil {
			v.Message = status.Message
		} else {
			v.Claims = claimsOf(c)
		}
		file.Vectors = append(file.Vectors, v)
	}
	text, err := json.MarshalIndent(file, "", "  ")
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(vectorsFile, append(text, '\n'), 0o644))
}

func TestParseKeys(t *testing.T) {
	for text, want := range map[string]string{
		"":                   "no key is given",
		" \n":                "no key is given",
		"short":              "key 1 has 5 bytes, expected at least 32",
		newKey + "\nshort\n": "key 2 has 5 bytes",
	} {
		_, err := token.ParseKeys(text)
		require.ErrorContains(t, err, want)
	}
	assert.Len(t, keys(t, newKey+"\n"+oldKey+"\n"), 2)
}

func TestSignRefusesEmptyGrants(t *testing.T) {
	good := token.Claims{Cluster: "demo", Resources: []string{"v1/pods"}, Namespaces: []string{"a"}, Expires: now.Add(1)}
	for want, spoil := range map[string]func(*token.Claims){
		"invalid resource":                func(c *token.Claims) { c.Resources = []string{"pods"} },
		"without resources":               func(c *token.Claims) { c.Resources = nil },
		"without namespaces":              func(c *token.Claims) { c.Namespaces = nil },
		"for one cluster":                 func(c *token.Claims) { c.Cluster = "" },
		"would expire before":             func(c *token.Claims) { c.Expires = now },
		"cannot be limited to namespaces": func(c *token.Claims) { c.Feed = true },
		"more than the maximum of 8192": func(c *token.Claims) {
			c.Namespaces = slices.Repeat([]string{"namespace"}, 1000)
		},
	} {
		bad := good
		spoil(&bad)
		_, err := keys(t, newKey).Sign(bad, now)
		require.ErrorContains(t, err, want)
	}
}

func TestPolicy(t *testing.T) {
	k := keys(t, newKey)
	policy := token.Policy(k, "demo", func() time.Time { return now })
	sign := func(c token.Claims) string {
		c.User, c.Expires = "ada", now.Add(time.Hour)
		text, err := k.Sign(c, now)
		require.NoError(t, err)
		return text
	}
	code := func(text string, r access.Request) int {
		user, status := policy.Authenticate(t.Context(), text)
		if status == nil {
			assert.Equal(t, "ada", user.Name)
			_, status = policy.Authorize(t.Context(), user, r)
		}
		if status == nil {
			return 200
		}
		return status.Code
	}
	pods, nodes := api.Resource{Version: "v1", Name: "pods"}, api.Resource{Version: "v1", Name: "nodes"}
	shop := token.Claims{Cluster: "demo", Resources: []string{"v1/pods"}, Namespaces: []string{"shop"}}
	all := token.Claims{Cluster: "demo", Resources: []string{token.Any}, Namespaces: []string{token.Any}}
	for _, c := range []struct {
		name    string
		token   string
		request access.Request
		want    int
	}{
		{"its namespace", sign(shop), access.Request{Resource: pods, Namespace: "shop"}, 200},
		{"an object there", sign(shop), access.Request{Resource: pods, Namespace: "shop", Name: "a", Verb: "get"}, 200},
		{"another namespace", sign(shop), access.Request{Resource: pods, Namespace: "bank"}, 403},
		{"all namespaces", sign(shop), access.Request{Resource: pods}, 403},
		{"another resource", sign(shop), access.Request{Resource: nodes, Namespace: "shop"}, 403},
		{"another version of it", sign(shop), access.Request{Resource: api.Resource{Version: "v2", Name: "pods"}, Namespace: "shop"}, 403},
		{"everything", sign(all), access.Request{Resource: nodes}, 200},
		{"another cluster", sign(token.Claims{Cluster: "prod", Resources: all.Resources, Namespaces: all.Namespaces}), access.Request{Resource: pods}, 403},
		{"with a feed's", sign(token.Claims{Cluster: "demo", Resources: all.Resources, Namespaces: all.Namespaces, Feed: true}), access.Request{Resource: pods}, 403},
		{"with none", "", access.Request{Resource: pods}, 401},
		{"with another key's", forge(hs256, reader, otherKey), access.Request{Resource: pods, Namespace: "shop"}, 401},
	} {
		assert.Equal(t, c.want, code(c.token, c.request), c.name)
	}
}

func TestRulesOfAToken(t *testing.T) {
	k := keys(t, newKey)
	policy := access.Enforce(token.Policy(k, "demo", func() time.Time { return now }), nil, nil) // as at the edge
	rules := func(c token.Claims, namespace string) []access.ResourceRule {
		c.Cluster, c.User, c.Expires = "demo", "ada", now.Add(time.Hour)
		text, err := k.Sign(c, now)
		require.NoError(t, err)
		user, status := policy.Authenticate(t.Context(), text)
		require.Nil(t, status)
		rules, status := access.RulesOf(t.Context(), policy, text, user, namespace)
		require.Nil(t, status)
		assert.False(t, rules.Incomplete)
		return rules.Resources
	}
	verbs := []string{"get", "list", "watch"}
	shop := token.Claims{Resources: []string{"v1/pods", "apps/v1/deployments"}, Namespaces: []string{"shop"}}
	assert.Equal(t, []access.ResourceRule{
		{Verbs: verbs, APIGroups: []string{""}, Resources: []string{"pods"}}, {Verbs: verbs, APIGroups: []string{"apps"}, Resources: []string{"deployments"}},
	}, rules(shop, "shop"))
	assert.Empty(t, rules(shop, "bank"))
	all := token.Claims{Resources: []string{token.Any}, Namespaces: []string{token.Any}}
	assert.Equal(t, []access.ResourceRule{{Verbs: verbs, APIGroups: []string{"*"}, Resources: []string{"*"}}}, rules(all, "bank"))
}
