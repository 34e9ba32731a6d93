package workloads

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"maps"
	"slices"
	"strconv"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/rand"

	"github.com/vllm-medic/vllm-medic/internal/sandbox/kubeapi"
)

const (
	deploymentController = "deployment-controller"
	revisionNote         = "deployment.kubernetes.io/revision"
)

func aboutDeployment(d *appsv1.Deployment) thing {
	return thing{appsv1.SchemeGroupVersion.WithKind("Deployment"), d}
}

// rollOut makes each Deployment have the ReplicaSets that it wants, as far as its strategy lets it go in this moment.
func (c *Cluster) rollOut() error {
	all, err := kubeapi.All[appsv1.Deployment](c.manager(), deploymentKind)
	if err != nil {
		return err
	}
	sets, err := kubeapi.All[appsv1.ReplicaSet](c.manager(), replicaSetKind)
	if err != nil {
		return err
	}
	var errs []error
	for _, d := range all {
		own := controlledBy(sets, d)
		slices.SortStableFunc(own, func(a, b *appsv1.ReplicaSet) int {
			return cmp.Or(a.CreationTimestamp.Compare(b.CreationTimestamp.Time), cmp.Compare(revision(a), revision(b)))
		})
		if d.DeletionTimestamp == nil {
			err = c.follow(d, own)
		}
		errs = append(errs, err)
	}
	return lasting(errs...)
}

func revision(rs *appsv1.ReplicaSet) int64 {
	n, err := strconv.ParseInt(rs.Annotations[revisionNote], 10, 64)
	if err != nil {
		return 0 // not numbered yet
	}
	return n
}

// follow brings the ReplicaSets of a Deployment one step closer to it, and its status up to date.
func (c *Cluster) follow(d *appsv1.Deployment, own []*appsv1.ReplicaSet) error {
	newest := template(d, own)
	if newest == nil && !d.Spec.Paused {
		return c.newSet(d, own) // the next round goes on with it
	}
	old := slices.DeleteFunc(slices.Clone(own), func(rs *appsv1.ReplicaSet) bool { return rs == newest })
	if newest != nil {
		if err := c.renew(d, newest, old); err != nil {
			return err
		}
	}
	var err error
	switch {
	case d.Spec.Paused || newest == nil:
		err = c.scalePaused(d, own)
	case d.Spec.Strategy.Type == appsv1.RecreateDeploymentStrategyType:
		err = c.recreate(d, newest, old)
	default:
		err = c.roll(d, newest, old)
	}
	return errors.Join(err, c.prune(d, newest, old), c.report(d, newest, own))
}

// template is the ReplicaSet that has the template of the Deployment; nil when none does.
func template(d *appsv1.Deployment, own []*appsv1.ReplicaSet) *appsv1.ReplicaSet {
	for _, rs := range own {
		t := rs.Spec.Template.DeepCopy()
		delete(t.Labels, appsv1.DefaultDeploymentUniqueLabelKey)
		if equality.Semantic.DeepEqual(*t, d.Spec.Template) {
			return rs
		}
	}
	return nil
}

// newSet makes the ReplicaSet of a new template, without pods.
func (c *Cluster) newSet(d *appsv1.Deployment, own []*appsv1.ReplicaSet) error {
	hash, err := hashOf(d)
	if err != nil {
		return err
	}
	t := d.Spec.Template.DeepCopy()
	t.Labels = with(t.Labels, appsv1.DefaultDeploymentUniqueLabelKey, hash)
	selector := d.Spec.Selector.DeepCopy()
	selector.MatchLabels = with(selector.MatchLabels, appsv1.DefaultDeploymentUniqueLabelKey, hash)
	notes := maps.Clone(d.Annotations)
	delete(notes, corev1.LastAppliedConfigAnnotation)
	rs := &appsv1.ReplicaSet{
		ObjectMeta: metav1.ObjectMeta{
			Name: d.Name + "-" + hash, Namespace: d.Namespace, Labels: t.Labels,
			Annotations: with(notes, revisionNote, strconv.FormatInt(last(own)+1, 10)),
			OwnerReferences: []metav1.OwnerReference{
				*metav1.NewControllerRef(d, appsv1.SchemeGroupVersion.WithKind("Deployment")),
			},
		},
		Spec: appsv1.ReplicaSetSpec{
			Replicas: new(int32), MinReadySeconds: d.Spec.MinReadySeconds, Selector: selector, Template: *t,
		},
	}
	if err := kubeapi.Create(c.manager(), replicaSetKind, rs); err != nil {
		return err
	}
	return c.progress(d, "NewReplicaSetCreated", fmt.Sprintf("Created new replica set %q", rs.Name))
}

// hashOf names a template, in letters that the API server takes for a name.
func hashOf(d *appsv1.Deployment) (string, error) {
	text, err := json.Marshal(d.Spec.Template)
	if err != nil {
		return "", fmt.Errorf("template of Deployment %s: %w", d.Name, err)
	}
	h := fnv.New32a()
	_, _ = h.Write(text) // it never fails
	return rand.SafeEncodeString(strconv.FormatUint(uint64(h.Sum32()), 10)), nil
}

func with(labels map[string]string, key, value string) map[string]string {
	out := map[string]string{key: value}
	for k, v := range labels {
		if k != key {
			out[k] = v
		}
	}
	return out
}

func last(sets []*appsv1.ReplicaSet) (n int64) {
	for _, rs := range sets {
		n = max(n, revision(rs))
	}
	return n
}

// renew gives a template that is used again the newest number, and the Deployment that number.
func (c *Cluster) renew(d *appsv1.Deployment, newest *appsv1.ReplicaSet, old []*appsv1.ReplicaSet) error {
	n := max(revision(newest), last(old)+1)
	text := strconv.FormatInt(n, 10)
	err := kubeapi.Change(c.manager(), replicaSetKind, "", newest, func(rs *appsv1.ReplicaSet) error {
		rs.Annotations = with(rs.Annotations, revisionNote, text)
		rs.Spec.MinReadySeconds = d.Spec.MinReadySeconds
		return nil
	})
	if err != nil {
		return err
	}
	// Through the status, which counts as no change of the specification.
	return kubeapi.Change(c.manager(), deploymentKind, "status", d, func(d *appsv1.Deployment) error {
		d.Annotations = with(d.Annotations, revisionNote, text)
		return nil
	})
}

// prune takes away old templates beyond the number that is kept.
func (c *Cluster) prune(d *appsv1.Deployment, newest *appsv1.ReplicaSet, old []*appsv1.ReplicaSet) error {
	if newest == nil || d.Spec.RevisionHistoryLimit == nil {
		return nil
	}
	unused := slices.DeleteFunc(slices.Clone(old), func(rs *appsv1.ReplicaSet) bool {
		return *rs.Spec.Replicas > 0 || rs.Status.Replicas > 0 || rs.DeletionTimestamp != nil
	})
	slices.SortFunc(unused, func(a, b *appsv1.ReplicaSet) int { return cmp.Compare(revision(a), revision(b)) })
	for _, rs := range unused[:max(0, len(unused)-int(*d.Spec.RevisionHistoryLimit))] {
		if err := c.manager().Delete(replicaSetKind, rs, metav1.DeleteOptions{}); err != nil {
			return err
		}
	}
	return nil
}
