package cluster

import (
	"encoding/json"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/vllm-medic/vllm-medic/internal/incident"
)

// What the bot scaled is known for its own also where no journal can be asked: the API server keeps who has set a field
// last. Whoever sets another value takes the field from all others, so that the bot's name stands only for its own
// number.

// ownReach is how far the clocks of the cluster's parts may be apart, and how long an autoscaler takes to follow a new
// minimum.
const ownReach = time.Minute

// ownMinimum is a minimum of an autoscaler that the bot has set. Its zero value is nothing.
type ownMinimum struct {
	at time.Time
	to int64
}

func minimumBy(o metav1.Object, field string, least *int64) ownMinimum {
	for _, m := range o.GetManagedFields() {
		if least != nil && m.Manager == incident.FieldManager && m.Subresource == "" && m.Time != nil &&
			setsInSpec(m.FieldsV1, field) {
			return ownMinimum{at: m.Time.UTC(), to: *least}
		}
	}
	return ownMinimum{}
}

func setsInSpec(set *metav1.FieldsV1, field string) bool {
	var top struct {
		Spec map[string]json.RawMessage `json:"f:spec"`
	}
	return set != nil && json.Unmarshal(set.GetRawBytes(), &top) == nil && top.Spec["f:"+field] != nil
}

// followed marks what an autoscaler did because of the bot's minimum.
func (o ownMinimum) followed(changes []incident.RecentChange) {
	for i, c := range changes {
		if !o.at.IsZero() && c.To != nil && *c.To == o.to && c.At.Sub(o.at).Abs() <= ownReach {
			changes[i].Own = true
		}
	}
}

// scaledByBot says whether the present number of replicas is the bot's, which writes it through the scale only.
func scaledByBot(o metav1.Object) bool {
	for _, m := range o.GetManagedFields() {
		if m.Manager == incident.FieldManager && m.Subresource == "scale" && m.FieldsV1 != nil {
			return true
		}
	}
	return false
}

// markOwnScaling marks the newest scaling as the bot's when it led to the present number and is the bot's. The API
// server keeps no time for what was written through the scale, so it is the order of the scalings that tells.
func markOwnScaling(changes []incident.RecentChange, o metav1.Object, replicas *int64) {
	newest := -1
	for i, c := range changes {
		if newest < 0 || c.At.After(changes[newest].At) {
			newest = i
		}
	}
	if newest >= 0 && replicas != nil && changes[newest].To != nil && *changes[newest].To == *replicas && scaledByBot(o) {
		changes[newest].Own = true
	}
}
