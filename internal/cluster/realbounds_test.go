package cluster

import (
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	k8sruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"

	"github.com/vllm-medic/vllm-medic/internal/incident"
	"github.com/vllm-medic/vllm-medic/test/size"
)

// What somebody with rights in one namespace can do: as many pods as are looked at, each as large as etcd takes it.
const (
	hugePods = maxPods
	hugePod  = 1 << 20
)

// mostHeap is what reading eight pools at one time may add to the heap, garbage included: a quarter of the memory that
// the chart gives the bot. Without a bound it is several gigabytes.
const mostHeap = 128 << 20

func TestHugePodsOfOneNamespaceDoNotCostTheOthers(t *testing.T) {
	size.Needs(t, size.Large)
	c := newCluster(t)
	start := time.Now().Add(-time.Hour)
	c.deployment(t, "llm", "calm", 1, settled(1, 1))
	c.pod(t, "llm", "calm-1", "calm", readyPod(start, "10.1.0.9"))
	c.deployment(t, "closed", "llama", hugePods, settled(hugePods, hugePods))
	c.makeHugePods(t, "closed", "llama")

	for name, content := range map[string]string{
		"JSON": k8sruntime.ContentTypeJSON, "protobuf": k8sruntime.ContentTypeProtobuf,
	} {
		t.Run(name, func(t *testing.T) {
			cfg := rest.CopyConfig(c.kube.AdminConfig())
			cfg.ContentType = content
			bot, err := New(cfg)
			must(t, err)
			calm, huge := deploymentRef("calm"), deploymentRef("llama")
			huge.Namespace = "closed"
			var got [8]incident.Cluster
			grown := heapGrowth(func() {
				var wg sync.WaitGroup
				for i := range got {
					wg.Go(func() {
						ref := huge
						if i == 0 {
							ref = calm
						}
						got[i] = bot.Cluster(t.Context(), ref, time.Now(), nil)
					})
				}
				wg.Wait()
			})
			if got[0].Error != "" || len(got[0].Pods) != 1 || len(got[0].Unread) > 0 {
				t.Errorf("the pool of another namespace is %+v", got[0])
			}
			for _, one := range got[1:] {
				const want = "list pods in namespace closed: the answer is larger than 8388608 bytes, the most that is " +
					"read: make the objects there smaller or fewer"
				if one.Error != want || len(one.Pods) > 0 || one.Replicas == nil {
					t.Fatalf("the pool itself says %q with %d pods, want %q", one.Error, len(one.Pods), want)
				}
			}
			if grown > mostHeap {
				t.Errorf("the heap grew by %d MiB, at most %d are allowed", grown>>20, mostHeap>>20)
			}
			seen := 0
			if err := bot.eachPod(t.Context(), "", func(*corev1.Pod) { seen++ }); err != nil || seen != hugePods+1 {
				t.Errorf("init sees %d pods, %v; want all of them, in pages that are small enough", seen, err)
			}
		})
	}
}

// makeHugePods makes pods of a Deployment whose arguments are of this size.
func (c *cluster) makeHugePods(t *testing.T, namespace, app string) {
	t.Helper()
	spec := template(app).Spec
	spec.Containers[0].Args = append(spec.Containers[0].Args, strings.Repeat("x", hugePod))
	var next atomic.Int64
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for next.Add(1) <= hugePods && !t.Failed() {
				_, err := c.admin.CoreV1().Pods(namespace).Create(t.Context(), &corev1.Pod{
					ObjectMeta: metav1.ObjectMeta{GenerateName: app + "-", Labels: map[string]string{"app": app}}, Spec: spec,
				}, metav1.CreateOptions{})
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
}

// heapGrowth is how much larger the heap was at most than before, while something was done, with garbage collected as
// often as the bot does it: tests run with another GOGC.
func heapGrowth(do func()) uint64 {
	defer debug.SetGCPercent(debug.SetGCPercent(100))
	runtime.GC()
	before := heap()
	most, done, ended := before, make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		tick := time.NewTicker(time.Millisecond)
		defer tick.Stop()
		for {
			most = max(most, heap())
			select {
			case <-done:
				return
			case <-tick.C:
			}
		}
	}()
	do()
	close(done)
	<-ended
	return most - before
}

func heap() uint64 {
	sample := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}
