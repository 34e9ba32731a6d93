package efficacy

import (
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	appsv1 "k8s.io/api/apps/v1"

	"github.com/vllm-medic/vllm-medic/internal/sandbox/kubeapi"
	"github.com/vllm-medic/vllm-medic/test/fleet"
	"github.com/vllm-medic/vllm-medic/test/fleet/trial"
)

// again plays a script once more, with changes that were made in an earlier play and nobody else. It is played in a
// cluster as the first time: a pod that is ready a moment later can decide whether a full cache ever recovers, so
// only the same play with the same changes comes out the same.
func (st *Stage) again(t *testing.T, s trial.Script, seed uint64, changes []change) (out trial.Course, err error) {
	t.Helper()
	dir := t.TempDir()
	synctest.Test(t, func(*testing.T) {
		var r *replay
		out, err = trial.Watch(s, seed, func(f *fleet.Fleet, s trial.Script) (trial.Hand, error) {
			w, err := newWorld(dir, f, s, st, false)
			r = &replay{hand: hand{world: w}, due: changes}
			return r, err
		}, trial.DefaultSLO())
		if r != nil && r.world != nil {
			err = errors.Join(err, r.world.close())
		}
	})
	return out, err
}

// replay is a hand that makes changes at their times.
type replay struct {
	hand

	due []change
}

// Look implements trial.Hand. As in the first play the cluster acts on new settings at once, and on a pod that somebody
// deletes at the next look.
func (r *replay) Look(now time.Time) (int, error) {
	time.Sleep(time.Until(now)) //nolint:forbidigo // simulated time is to pass
	n := 0
	for n < len(r.due) && !r.due[n].At.After(now) {
		n++
	}
	due := r.due[:n]
	r.due = r.due[n:]
	for _, c := range due {
		if err := r.set(c.Settings); err != nil {
			return n, err
		}
	}
	if err := r.world.step(); err != nil {
		return n, err
	}
	for _, c := range due {
		if c.Deleted == "" {
			continue
		}
		if err := remove(&r.hand, r.world.pods.Name(c.Deleted)); err != nil {
			return n, err
		}
	}
	return n, nil
}

// set gives the Deployment settings that it doesn't have yet.
func (r *replay) set(want settings) error {
	if err := r.see(); err != nil || r.last.equal(want) {
		return err
	}
	admin := r.world.kube.As("kubectl")
	d, err := kubeapi.Get[appsv1.Deployment](admin, deployments, namespace, modelName)
	if err != nil {
		return err
	}
	if int(*d.Spec.Replicas) != want.Replicas {
		if err := admin.Scale(deployments, d, int32(want.Replicas)); err != nil {
			return err
		}
	}
	if slices.Equal(r.last.Args, want.Args) {
		return nil
	}
	return kubeapi.Change(admin, deployments, "", d, func(d *appsv1.Deployment) error {
		d.Spec.Template.Spec.Containers[0].Args = append(baseArgs(), want.Args...)
		return nil
	})
}
