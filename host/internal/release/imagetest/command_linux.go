package imagetest

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"

	v1 "github.com/google/go-containerregistry/pkg/v1"
)

// Command returns a command that runs the entrypoint of an image with the given arguments.
// The command runs with root as its root directory, and with the user and the environment
// of the image.
func Command(ctx context.Context, image v1.Image, root string, args ...string) (*exec.Cmd, error) {
	file, err := image.ConfigFile()
	if err != nil {
		return nil, err
	}
	config := file.Config
	uid, gid, _ := strings.Cut(config.User, ":")
	user, err := strconv.Atoi(uid)
	if err != nil {
		return nil, fmt.Errorf("user %q of the image: %w", config.User, err)
	}
	group, err := strconv.Atoi(gid)
	if err != nil {
		return nil, fmt.Errorf("group %q of the image: %w", config.User, err)
	}
	if len(config.Entrypoint) != 1 {
		return nil, fmt.Errorf("entrypoint %q of the image: expected one word", config.Entrypoint)
	}
	cmd := exec.CommandContext(ctx, config.Entrypoint[0], args...)
	cmd.Dir, cmd.Env = config.WorkingDir, config.Env
	cmd.SysProcAttr = confine(root, user, group)
	return cmd, nil
}

// confine returns attributes that change the root directory, the user and the group of a
// process. If the caller is not root, the process runs in a user namespace that maps the
// caller to that user.
func confine(root string, user, group int) *syscall.SysProcAttr {
	attr := &syscall.SysProcAttr{Chroot: root, Credential: &syscall.Credential{Uid: uint32(user), Gid: uint32(group), NoSetGroups: true}}
	if os.Getuid() != 0 {
		attr.Cloneflags = syscall.CLONE_NEWUSER
		attr.UidMappings = []syscall.SysProcIDMap{{ContainerID: user, HostID: os.Getuid(), Size: 1}}
		attr.GidMappings = []syscall.SysProcIDMap{{ContainerID: group, HostID: os.Getgid(), Size: 1}}
	}
	return attr
}
