package apiserver

import (
	"bytes"
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	jose "github.com/go-jose/go-jose/v4"
	"github.com/golang-jwt/jwt/v5"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/watchglass/watchglass/host/kubeapi"
	"github.com/watchglass/watchglass/host/signin/oidc"
	"github.com/watchglass/watchglass/host/source/kube"
)

const (
	clientID   = "watchglass"
	oidcPrefix = "oidc:"
	rsaKeyID   = "rsa"
	ecKeyID    = "ec"
)

// issuer is an OpenID Connect issuer that the kube-apiserver trusts.
type issuer struct {
	*httptest.Server
	rsa *rsa.PrivateKey
	ec  *ecdsa.PrivateKey
	dir string
}

func startIssuer() (*issuer, error) {
	i := &issuer{}
	var err error
	if i.rsa, err = rsa.GenerateKey(rand.Reader, 2048); err != nil {
		return nil, err
	}
	if i.ec, err = ecdsa.GenerateKey(elliptic.P256(), rand.Reader); err != nil {
		return nil, err
	}
	if i.dir, err = os.MkdirTemp("", "issuer"); err != nil {
		return nil, err
	}
	i.Server = httptest.NewTLSServer(i)
	return i, nil
}

// Close stops the issuer and removes its files.
func (i *issuer) Close() {
	i.Server.Close()
	if err := os.RemoveAll(i.dir); err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
}

// ServeHTTP implements http.Handler.
func (i *issuer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	switch r.URL.Path {
	case "/.well-known/openid-configuration":
		json.NewEncoder(w).Encode(map[string]any{"issuer": i.URL, "jwks_uri": i.URL + "/keys"})
	case "/keys":
		json.NewEncoder(w).Encode(jose.JSONWebKeySet{Keys: []jose.JSONWebKey{
			{Key: i.rsa.Public(), KeyID: rsaKeyID, Use: "sig", Algorithm: "RS256"},
			{Key: i.ec.Public(), KeyID: ecKeyID, Use: "sig", Algorithm: "ES256"},
		}})
	default:
		http.NotFound(w, r)
	}
}

// flags returns the flags of a kube-apiserver that trusts the issuer.
func (i *issuer) flags() ([]string, error) {
	authorities := filepath.Join(i.dir, "issuer.pem")
	return []string{
		"--oidc-issuer-url=" + i.URL, "--oidc-client-id=" + clientID, "--oidc-ca-file=" + authorities,
		"--oidc-username-claim=sub", "--oidc-username-prefix=" + oidcPrefix, "--oidc-groups-claim=groups", "--oidc-groups-prefix=" + oidcPrefix,
		"--oidc-required-claim=tenant=one", "--oidc-signing-algs=RS256,ES256",
	}, os.WriteFile(authorities, i.authorities(), 0o600)
}

// authorities returns the certificate of the issuer as PEM.
func (i *issuer) authorities() []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: i.Certificate().Raw})
}

// verifier returns a Verifier with the settings of the kube-apiserver.
func (i *issuer) verifier(t *testing.T) *oidc.Verifier {
	v, err := oidc.New(oidc.Config{
		IssuerURL: i.URL, ClientID: clientID, UsernameClaim: "sub", UsernamePrefix: oidcPrefix, GroupsClaim: "groups", GroupsPrefix: oidcPrefix,
		RequiredClaims: map[string]string{"tenant": "one"}, SigningAlgorithms: []string{"RS256", "ES256"}, Logger: slog.New(slog.DiscardHandler),
	})
	require.NoError(t, err)
	require.NoError(t, v.SetAuthorities(i.authorities()))
	return v
}

// sign returns a signed token of the user carol. The map changes contains claims to
// replace; a nil value removes a claim.
func (i *issuer) sign(t *testing.T, method jwt.SigningMethod, id string, key crypto.PrivateKey, changes jwt.MapClaims) string {
	t.Helper()
	now := time.Now()
	claims := jwt.MapClaims{
		"iss": i.URL, "aud": clientID, "sub": "carol", "groups": []string{"devs"}, "tenant": "one", "iat": now.Unix(), "exp": now.Add(time.Hour).Unix(),
	}
	maps.Copy(claims, changes)
	maps.DeleteFunc(claims, func(_ string, value any) bool { return value == nil })
	token := jwt.NewWithClaims(method, claims)
	if id != "" {
		token.Header["kid"] = id
	}
	text, err := token.SignedString(key)
	require.NoError(t, err)
	return text
}

func (i *issuer) token(t *testing.T, changes jwt.MapClaims) string {
	t.Helper()
	return i.sign(t, jwt.SigningMethodRS256, rsaKeyID, i.rsa, changes)
}

// identity returns the status code of a SelfSubjectReview with a token and, if the server
// accepts the token, its user and groups.
func identity(t *testing.T, client *http.Client, server, token string) (code int, user string, groups []string) {
	t.Helper()
	body := strings.NewReader(`{"apiVersion":"authentication.k8s.io/v1","kind":"SelfSubjectReview"}`)
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, server+"/apis/authentication.k8s.io/v1/selfsubjectreviews", body)
	require.NoError(t, err)
	r.Header.Set("Authorization", "Bearer "+token)
	r.Header.Set("Content-Type", "application/json")
	response, err := client.Do(r)
	require.NoError(t, err)
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	if response.StatusCode != http.StatusCreated {
		return response.StatusCode, "", nil
	}
	var review struct {
		Status struct {
			UserInfo struct {
				Username string
				Groups   []string
			}
		}
	}
	require.NoError(t, json.Unmarshal(text, &review), "%s", text)
	return response.StatusCode, review.Status.UserInfo.Username, review.Status.UserInfo.Groups
}

// newOIDC is like newRights, but the connector verifies ID tokens itself.
func newOIDC(t *testing.T) *rights {
	policy := newSource(t, admin, kube.Config{}).PolicyFor(shared.issuer.verifier(t), nil)
	w := newWorld(t, newSource(t, admin, kube.Config{}), policy)
	handler := kubeapi.New(kubeapi.Config{Backend: w.connector.Backend(), Access: policy})
	server := httptest.NewTLSServer(handler)
	t.Cleanup(server.Close)
	t.Cleanup(handler.Stop)
	r := &rights{t, map[string]string{"kube-apiserver": shared.URL, "watchglass": server.URL}}
	require.Eventually(t, func() bool { // the kube-apiserver reads the keys in the background
		code, _, _ := identity(t, shared.http, shared.URL, shared.issuer.token(t, nil))
		return code == http.StatusCreated
	}, time.Minute, 100*time.Millisecond)
	return r
}

func TestIDTokensAreAcceptedAsByTheServer(t *testing.T) {
	r, i := newOIDC(t), shared.issuer
	now := time.Now()
	stranger, err := rsa.GenerateKey(rand.Reader, 2048)
	require.NoError(t, err)
	public, err := x509.MarshalPKIXPublicKey(i.rsa.Public())
	require.NoError(t, err)
	good := i.token(t, nil)
	parts := strings.Split(good, ".")
	for name, c := range map[string]struct {
		token string
		code  int
	}{
		"good":                     {good, 201},
		"ECDSA":                    {i.sign(t, jwt.SigningMethodES256, ecKeyID, i.ec, nil), 201},
		"no key ID":                {i.sign(t, jwt.SigningMethodRS256, "", i.rsa, nil), 201},
		"several audiences":        {i.token(t, jwt.MapClaims{"aud": []string{"other", clientID}}), 201},
		"one group":                {i.token(t, jwt.MapClaims{"groups": "ops"}), 201},
		"no groups":                {i.token(t, jwt.MapClaims{"groups": nil}), 201},
		"empty groups":             {i.token(t, jwt.MapClaims{"groups": []string{}}), 201},
		"name of the system":       {i.token(t, jwt.MapClaims{"sub": "system:admin", "groups": []string{"system:masters"}}), 201},
		"further claims":           {i.token(t, jwt.MapClaims{"email": "carol@example.com", "nonce": "n", "nested": map[string]any{"a": 1}}), 201},
		"valid since just now":     {i.token(t, jwt.MapClaims{"nbf": now.Add(-time.Second).Unix()}), 201},
		"issued in the future":     {i.token(t, jwt.MapClaims{"iat": now.Add(time.Hour).Unix()}), 201},
		"not valid for an hour":    {i.token(t, jwt.MapClaims{"nbf": now.Add(time.Hour).Unix()}), 401},
		"expired":                  {i.token(t, jwt.MapClaims{"exp": now.Add(-time.Second).Unix()}), 401},
		"no expiry":                {i.token(t, jwt.MapClaims{"exp": nil}), 401},
		"other audience":           {i.token(t, jwt.MapClaims{"aud": "other"}), 401},
		"no audience":              {i.token(t, jwt.MapClaims{"aud": nil}), 401},
		"other issuer":             {i.token(t, jwt.MapClaims{"iss": "https://other.example.com"}), 401},
		"issuer with a slash":      {i.token(t, jwt.MapClaims{"iss": i.URL + "/"}), 401},
		"no subject":               {i.token(t, jwt.MapClaims{"sub": nil}), 401},
		"subject is a number":      {i.token(t, jwt.MapClaims{"sub": 7}), 401},
		"groups are numbers":       {i.token(t, jwt.MapClaims{"groups": []int{1}}), 401},
		"groups are an object":     {i.token(t, jwt.MapClaims{"groups": map[string]any{"a": "b"}}), 401},
		"no tenant":                {i.token(t, jwt.MapClaims{"tenant": nil}), 401},
		"other tenant":             {i.token(t, jwt.MapClaims{"tenant": "two"}), 401},
		"key of a stranger":        {i.sign(t, jwt.SigningMethodRS256, rsaKeyID, stranger, nil), 401},
		"unknown key ID":           {i.sign(t, jwt.SigningMethodRS256, "unknown", i.rsa, nil), 401},
		"key ID of the other key":  {i.sign(t, jwt.SigningMethodES256, rsaKeyID, i.ec, nil), 401},
		"algorithm not accepted":   {i.sign(t, jwt.SigningMethodRS512, rsaKeyID, i.rsa, nil), 401},
		"no algorithm":             {i.sign(t, jwt.SigningMethodNone, rsaKeyID, jwt.UnsafeAllowNoneSignatureType, nil), 401},
		"public key as the secret": {i.sign(t, jwt.SigningMethodHS256, rsaKeyID, public, nil), 401},
		"no signature":             {parts[0] + "." + parts[1] + ".", 401},
		"payload of another token": {parts[0] + "." + strings.Split(i.token(t, jwt.MapClaims{"sub": "dave"}), ".")[1] + "." + parts[2], 401},
		"payload is not JSON":      {parts[0] + "." + base64.RawURLEncoding.EncodeToString([]byte("{")) + "." + parts[2], 401},
		"two parts":                {parts[0] + "." + parts[1], 401},
		"text":                     {"carol", 401},
	} {
		wantCode, wantUser, wantGroups := identity(t, shared.http, r.servers["kube-apiserver"], c.token)
		code, user, groups := identity(t, shared.http, r.servers["watchglass"], c.token)
		assert.NotEqual(t, code == http.StatusCreated, user == "", name)
		assert.Equal(t, c.code, wantCode, "%s: kube-apiserver", name)
		assert.Equal(t, wantCode, code, name)
		assert.Equal(t, wantUser, user, name)
		slices.Sort(wantGroups)
		slices.Sort(groups)
		assert.Equal(t, wantGroups, groups, name)
	}
}

func TestKubectlReadsWithAnIDToken(t *testing.T) {
	r, i := newOIDC(t), shared.issuer
	const group = "/apis/rbac.authorization.k8s.io/v1/namespaces/a/"
	t.Cleanup(func() {
		for _, path := range []string{group + "rolebindings/oidc-devs", group + "roles/oidc-devs", "/api/v1/namespaces/a/configmaps/oidc"} {
			_, _, err := shared.request(http.MethodDelete, path, nil)
			assert.NoError(t, err)
		}
	})
	shared.must(t, http.MethodPost, group+"roles", `{"metadata":{"name":"oidc-devs"},"rules":[{"apiGroups":[""],"resources":["configmaps"],"verbs":["get","list","watch"]}]}`)
	shared.must(t, http.MethodPost, group+"rolebindings", `{"metadata":{"name":"oidc-devs"},
		"roleRef":{"apiGroup":"rbac.authorization.k8s.io","kind":"Role","name":"oidc-devs"},
		"subjects":[{"kind":"Group","apiGroup":"rbac.authorization.k8s.io","name":"oidc:devs"}]}`)
	shared.must(t, http.MethodPost, "/api/v1/namespaces/a/configmaps", `{"metadata":{"name":"oidc"},"data":{"a":"b"}}`)

	dev, other := i.token(t, nil), i.token(t, jwt.MapClaims{"groups": []string{"ops"}})
	for _, c := range []struct{ token, args, contains string }{
		{dev, "get configmap oidc -n a -o name", "configmap/oidc"},
		{dev, "get configmap oidc -n a -o jsonpath={.data}", `{"a":"b"}`},
		{dev, "auth can-i list configmaps -n a", "yes"},
		{dev, "auth can-i list configmaps -n b", "no"},
		{other, "auth can-i list configmaps -n a", "no"},
		{dev, "get configmaps -n b", "Forbidden"},
		{other, "get configmaps -n a", "Forbidden"},
		{i.token(t, jwt.MapClaims{"exp": time.Now().Add(-time.Minute).Unix()}), "get configmaps -n a", "You must be logged in to the server"},
	} {
		for _, server := range []string{"kube-apiserver", "watchglass"} {
			out, complaint := r.kubectl(server, c.token, strings.Fields(c.args)...)
			assert.Contains(t, out+complaint, c.contains, "%s: %s", server, c.args)
		}
	}
	var review bytes.Buffer
	out, complaint := r.kubectl("watchglass", dev, "auth", "whoami", "-o", "json")
	require.NoError(t, json.Compact(&review, []byte(out)), complaint)
	assert.Contains(t, review.String(), `"username":"oidc:carol"`)
}
