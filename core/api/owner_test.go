package api

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestOwnerText(t *testing.T) {
	for _, c := range []struct {
		object string
		owner  Owner
		text   string
	}{
		{"web-7d4b9-x2x4z", Owner{"ReplicaSet", "web-7d4b9", "u1"}, "0/%/u1"},
		{"web-7d4b9", Owner{"Deployment", "web", "u1"}, "5/%/u1"},
		{"web", Owner{"Service", "", "u1"}, "u1"},
		{"-web", Owner{"Service", "", "u1"}, "u1"},
		{"web", Owner{"", "web", "u1"}, "u1"},
		{"web", Owner{"Cluster", "main", "u1"}, "Cluster/main/u1"},
		{"kube-proxy-n1", Owner{"Node", "n1", "u1"}, "6/n1/u1"},
		{"a-b", Owner{"a/b", "c", "u1"}, "u1"},
		{"a-b", Owner{"Job", "c/d", "u1"}, "u1"},
		{"a-b", Owner{"Job", "a", "u/1"}, "3/%/u/1"},
		{"a-b", Owner{"", "", "u/1"}, "//u/1"},
	} {
		assert.Equal(t, c.text, string(c.owner.Append(nil, c.object)), "%+v", c)
		want := c.owner
		if c.text == want.UID || c.text == "//"+want.UID {
			want = Owner{UID: want.UID} // an incomplete reference
		}
		assert.Equal(t, want, ParseOwner(c.text, c.object), "%+v", c)
	}
}

func TestSiblingsHaveTheSameOwnerText(t *testing.T) {
	owner := Owner{"ReplicaSet", "web-7d4b9", "u1"}
	assert.Equal(t, owner.Append(nil, "web-7d4b9-aaaaa"), owner.Append(nil, "web-7d4b9-bbbbb"))
}

func TestOwnerOfUnknownNumberAndObjectWithoutHyphen(t *testing.T) {
	assert.Equal(t, Owner{"8", "n", "u"}, ParseOwner("8/n/u", "x"))
	assert.Equal(t, Owner{"Job", "", "u"}, ParseOwner("3/%/u", "x"))
	assert.Equal(t, Owner{UID: "a/b"}, ParseOwner("a/b", "x"), "one slash belongs to the UID")
	assert.Equal(t, Owner{}, ParseOwner("", "x"))
}
