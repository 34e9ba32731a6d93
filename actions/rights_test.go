package actions_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/vllm-medic/vllm-medic/internal/incident"
	"github.com/vllm-medic/vllm-medic/test/kubetest"
	"github.com/vllm-medic/vllm-medic/test/size"
)

// single splits rules into one for each verb.
func single(rules []rbacv1.PolicyRule) []rbacv1.PolicyRule {
	var out []rbacv1.PolicyRule
	for _, r := range rules {
		for _, verb := range r.Verbs {
			r.Verbs = []string{verb}
			out = append(out, r)
		}
	}
	return out
}

// inWords is a right as refusals name it, without the object: "patch deployments.apps/scale".
func inWords(r rbacv1.PolicyRule) string {
	resource, sub, _ := strings.Cut(r.Resources[0], "/")
	return strings.TrimSuffix(r.Verbs[0]+" "+resource+"."+r.APIGroups[0]+"/"+sub, "/")
}

// A knob works with exactly the rights that Rules names. When one of them is missing the step is refused and the
// right is named, and each right is missed by some knob: none is asked for in vain.
func TestEachRightIsNeededAndMissedByItsName(t *testing.T) {
	t.Parallel()
	size.Needs(t, size.Large)
	var mu sync.Mutex
	missed := map[string]bool{}
	t.Run("knobs", func(t *testing.T) {
		for _, tt := range turns() {
			t.Run(tt.name, func(t *testing.T) {
				t.Parallel()
				b := newBench(t)
				tt.make(b)
				b.pool.Knobs = b.pool.Knobs.Only(tt.req.Kind)
				rules, err := b.bot.Rules(t.Context(), []incident.Pool{b.pool}, incident.ModeApprove)
				if err != nil || len(rules) != 1 {
					t.Fatalf("%+v, %v", rules, err)
				}
				all := single(rules[0].Rules)
				for n := -1; n < len(all); n++ {
					without, rights := "nothing", all
					if n >= 0 {
						without, rights = inWords(all[n]), slices.Delete(slices.Clone(all), n, n+1)
					}
					user := fmt.Sprintf("%s-without-%d", b.ns, n)
					b.c.Grant(t, user, b.ns, rights...)
					bot := b.registry(b.c.ConfigAs(user))
					b.names(bot, without)
					why := b.whyNot(bot, user, tt.req)
					mu.Lock()
					missed[without] = missed[without] || why != ""
					mu.Unlock()
					if why != "" && !strings.Contains(why, "lacks permission to "+without+" ") {
						t.Errorf("without %s: %s", without, why)
					}
				}
			})
		}
	})
	for right, by := range missed {
		if by != (right != "nothing") {
			t.Errorf("without %s somebody was refused: %v", right, by)
		}
	}
}

// names demands that the bot names the one right that it lacks; it allows for the moment that a grant takes to be
// obeyed.
func (b *bench) names(bot bot, without string) {
	b.t.Helper()
	pool := b.pool
	pool.Mode = incident.ModeApprove
	kubetest.Eventually(b.t, "the missing right is named", func(ctx context.Context) error {
		needs, err := bot.Needs(ctx, pool)
		var missing []string
		for _, n := range needs {
			lacks, asked := bot.Lacks(ctx, n.Attributes())
			if err = errors.Join(err, asked); lacks {
				missing = append(missing, n.String())
			}
		}
		switch {
		case err != nil:
			return err
		case without == "nothing" && len(missing) == 0, len(missing) == 1 && strings.HasPrefix(missing[0], without+" "):
			return nil
		default:
			return fmt.Errorf("without %s: %q", without, missing)
		}
	})
}

// whyNot takes a step through its whole life, leaves everything as it was, and returns why the step cannot be made. The
// writes are named after what is tried.
func (b *bench) whyNot(bot bot, try string, req incident.StepRequest) string {
	b.t.Helper()
	ctx, apply, undo := b.t.Context(), try+".apply", try+".undo"
	s, err := bot.Propose(ctx, b.pool, req)
	if err != nil {
		if outcome(err) != "refused" {
			b.t.Errorf("propose: %v", err)
		}
		return err.Error()
	}
	if !s.Executable() {
		return refusals(s)
	}
	if err := bot.Recheck(ctx, b.pool, s); err != nil {
		return err.Error()
	}
	// The controllers may write to the object in the same moment.
	kubetest.Eventually(b.t, "the write", func(ctx context.Context) error {
		return bot.Do(ctx, b.pool, s, incident.OpApply, apply)
	})
	_, observed := bot.Observe(ctx, b.pool, s, incident.OpApply, apply, nil)
	_, rolled := bot.Rollout(ctx, b.pool, s, incident.OpApply)
	_, marked := bot.Mark(ctx, b.pool, s)
	_, looked := bot.Reversal(ctx, b.pool, s, incident.OpApply)
	if err := errors.Join(observed, rolled, marked, looked); err != nil {
		b.t.Errorf("after the write: %v", err)
	}
	kubetest.Eventually(b.t, "the undo", func(ctx context.Context) error {
		return bot.Do(ctx, b.pool, s, incident.OpUndo, undo)
	})
	if b.pool.Workload.Kind != "Deployment" {
		return "" // no controller follows it here
	}
	kubetest.Eventually(b.t, "the rollout of the undo", func(ctx context.Context) error {
		r, err := bot.Rollout(ctx, b.pool, s, incident.OpUndo)
		if err == nil && r.State != incident.RolloutDone {
			err = fmt.Errorf("it is %s", r.State)
		}
		return err
	})
	return ""
}

func TestARightThatIsTakenAwaySinceTheProposalIsNamed(t *testing.T) {
	t.Parallel()
	for _, tt := range turns() {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			tt.make(b)
			b.grant(kubetest.Viewer, incident.ModeDryRun)
			s := b.propose(tt.req)
			err := b.c.Client(t).RbacV1().RoleBindings(b.ns).DeleteCollection(t.Context(), metav1.DeleteOptions{},
				metav1.ListOptions{})
			if err != nil {
				t.Fatal(err)
			}
			b.grant(kubetest.Bot, incident.ModeDryRun)
			kubetest.Eventually(t, "the loss of the right", func(ctx context.Context) error {
				err := b.bot.Recheck(ctx, b.pool, s)
				if outcome(err) != "refused" || !strings.Contains(err.Error(), "lacks permission to patch ") {
					return errors.Join(errors.New("it is still there"), err)
				}
				return nil
			})
			if err := b.bot.Do(t.Context(), b.pool, s, incident.OpApply, "w1"); outcome(err) != "refused" ||
				!strings.Contains(err.Error(), "lacks permission to patch ") {
				t.Errorf("apply: %v", err)
			}
			checkObserved(t, b, s, incident.OpApply, "w1", tt.from, false)
		})
	}
}

func TestAnEarlierTryOfTheSameWriteThatLandsLateIsRecognised(t *testing.T) {
	t.Parallel()
	for _, tt := range turns() {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			tt.make(b)
			s := b.propose(tt.req)
			late := b.as(kubetest.Bot, through(func(next http.RoundTripper, r *http.Request) (*http.Response, error) {
				if err := b.bot.Do(r.Context(), b.pool, s, incident.OpApply, "w1"); err != nil {
					return nil, err
				}
				return next.RoundTrip(r)
			}))
			if err := late.Do(t.Context(), b.pool, s, incident.OpApply, "w1"); err != nil {
				t.Errorf("its own earlier try is taken for somebody else's: %v", err)
			}
			checkObserved(t, b, s, incident.OpApply, "w1", tt.to, true)
		})
	}
}
