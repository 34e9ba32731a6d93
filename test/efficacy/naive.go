package efficacy

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v4"
	appsv1 "k8s.io/api/apps/v1"

	"github.com/vllm-medic/vllm-medic/internal/sandbox/kubeapi"
	"github.com/vllm-medic/vllm-medic/playbooks/catalog"
)

// runbookStep is the first step of a playbook that turns something the pool allows to be turned.
type runbookStep struct {
	add    int     // replicas
	factor float64 // of max_num_batched_tokens
}

// runbook has the step for each alert.
type runbook map[string]runbookStep

// readRunbook takes the first step of each playbook as it is written, whatever the diagnosis and the rules around it.
func readRunbook() (runbook, error) {
	files, err := catalog.Files()
	if err != nil {
		return nil, err
	}
	out := runbook{}
	for _, file := range files {
		var p struct {
			Alerts    []string `yaml:"alerts"`
			Diagnoses []struct {
				Steps []struct {
					Replicas *struct {
						Add int `yaml:"add"`
					} `yaml:"replicas"`
					Tokens *struct {
						Factor float64 `yaml:"factor"`
					} `yaml:"max_num_batched_tokens"`
				} `yaml:"steps"`
			} `yaml:"diagnoses"`
		}
		if err := yaml.Unmarshal(file.Data, &p); err != nil {
			return nil, fmt.Errorf("read %s: %w", file.Name, err)
		}
		var first *runbookStep
		for _, d := range p.Diagnoses {
			for _, s := range d.Steps {
				switch {
				case first != nil:
				case s.Replicas != nil:
					first = &runbookStep{add: s.Replicas.Add}
				case s.Tokens != nil:
					first = &runbookStep{factor: s.Tokens.Factor}
				}
			}
		}
		for _, alert := range p.Alerts {
			if first != nil {
				out[alert] = *first
			}
		}
	}
	return out, nil
}

// naive is the hand of somebody who does the first step of the runbook for whatever alert fires, does it again every
// ten minutes as long as one fires, and never looks whether it helped.
type naive struct {
	hand

	runbook runbook
	after   time.Time
}

func newNaive(w *world, r runbook) *naive {
	n := &naive{hand: hand{world: w}, runbook: r}
	n.act = n.look
	return n
}

// again is the time after which the step is done again: the bot's own cool-down.
const again = 10 * time.Minute

func (n *naive) look(now time.Time) error {
	if now.Before(n.after) {
		return nil
	}
	var firing []string
	for _, a := range n.world.monitor.prom.Alerts() {
		if a.State == "firing" {
			firing = append(firing, a.Name)
		}
	}
	slices.Sort(firing)
	for _, alert := range firing {
		if s, known := n.runbook[alert]; known {
			n.after = now.Add(again)
			return n.do(s)
		}
	}
	return nil
}

// do changes the Deployment, within the bounds that the bot's configuration has.
func (n *naive) do(s runbookStep) error {
	admin := n.world.kube.As("kubectl")
	d, err := kubeapi.Get[appsv1.Deployment](admin, deployments, namespace, modelName)
	if err != nil {
		return err
	}
	if s.add != 0 {
		return admin.Scale(deployments, d, min(*d.Spec.Replicas+int32(s.add), mostReplicas))
	}
	return kubeapi.Change(admin, deployments, "", d, func(d *appsv1.Deployment) error {
		c := &d.Spec.Template.Spec.Containers[0]
		c.Args = withTokens(c.Args, s.factor)
		return nil
	})
}

const (
	mostReplicas  = 8
	tokensFlag    = "--max-num-batched-tokens=" //nolint:gosec // no secret
	defaultTokens = 8192
	leastTokens   = 256
	mostTokens    = 16384
)

// withTokens multiplies the token budget among engine arguments.
func withTokens(args []string, factor float64) []string {
	out := slices.Clone(args)
	scaled := func(n float64) string {
		return tokensFlag + strconv.Itoa(int(math.Min(math.Max(n*factor, leastTokens), mostTokens)))
	}
	for i, a := range out {
		if text, ok := strings.CutPrefix(a, tokensFlag); ok {
			if n, err := strconv.Atoi(text); err == nil {
				out[i] = scaled(float64(n))
			}
			return out
		}
	}
	return append(out, scaled(defaultTokens))
}
