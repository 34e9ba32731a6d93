package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// release is what is released.
type release struct {
	root, commit, version string
	date                  time.Time
}

// identify reads from git what is released.
func identify(root string) (release, error) {
	r := release{root: root}
	var err error
	if r.commit, err = git(root, "rev-parse", "HEAD"); err != nil {
		return r, err
	}
	seconds, err := git(root, "show", "-s", "--format=%ct", "HEAD")
	if err != nil {
		return r, err
	}
	n, err := strconv.ParseInt(seconds, 10, 64)
	if err != nil {
		return r, fmt.Errorf("the date of the commit: %w", err)
	}
	r.date = time.Unix(n, 0).UTC()
	chart, err := git(root, "show", "HEAD:"+chartFile)
	if err != nil {
		return r, err
	}
	tags, err := git(root, "tag", "--points-at", "HEAD", "--list", "v[0-9]*")
	if err != nil {
		return r, err
	}
	if r.version, err = versionOf(chart, strings.Fields(tags), r.commit); err != nil {
		return r, err
	}
	changed, err := git(root, "status", "--porcelain")
	if changed != "" {
		fmt.Fprintf(os.Stderr, "not released, because it is not committed:\n%s\n", changed)
	}
	return r, err
}

// chartFile is the one place that says which version is made: the chart that installs a release names it as its image.
const chartFile = "deploy/helm/vllm-medic/Chart.yaml"

var (
	chartVersion = regexp.MustCompile(`(?m)^version: (\d+\.\d+\.\d+)$`)
	appVersion   = regexp.MustCompile(`(?m)^appVersion: v(\d+\.\d+\.\d+)$`)
)

// versionOf is the chart's version for the commit with its tag, and one that sorts before it for any other commit. It
// refuses a tag that the chart does not name: whoever installs the chart would get another image.
func versionOf(chart string, tags []string, commit string) (string, error) {
	own, app := chartVersion.FindStringSubmatch(chart), appVersion.FindStringSubmatch(chart)
	if own == nil || app == nil || own[1] != app[1] {
		return "", errors.New(chartFile + ": want one version, such as version: 1.2.3 and appVersion: v1.2.3")
	}
	version := "v" + app[1]
	if len(tags) == 0 {
		return version + "-dev-" + commit[:12], nil
	}
	if !slices.Equal(tags, []string{version}) {
		return "", fmt.Errorf("the commit has the tag %s, and %s says %s: set the version there, and tag that commit",
			strings.Join(tags, " and "), chartFile, version)
	}
	return version, nil
}

func git(root string, args ...string) (string, error) {
	cmd := exec.Command("git", append([]string{"-C", root}, args...)...)
	var said bytes.Buffer
	cmd.Stderr = &said
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("git %s: %w\n%s", strings.Join(args, " "), err, said.String())
	}
	return strings.TrimSpace(string(out)), nil
}
