package reporttest

import (
	"fmt"
	"testing"
	"time"

	"github.com/vllm-medic/vllm-medic/internal/incident"
)

// Posted is a life and when its message was posted; zero: it was not.
type Posted struct {
	*Life
	At time.Time
}

// Month is thirty days of incidents on three pools, the last of them open. The same each time but for where it ends.
func Month(t testing.TB, until time.Time) []Posted {
	t.Helper()
	m := &month{t: t, since: until.AddDate(0, 0, -30)}
	m.bursts("llama-70b")
	m.overloads("llama-70b")
	m.longPrompts("qwen-32b")
	m.sickEngines("qwen-32b")
	m.dryRuns("mixtral-8x7b")
	m.strangers()
	m.now("llama-70b")
	return m.all
}

type month struct {
	t     testing.TB
	since time.Time
	all   []Posted
}

// open begins the next incident, on a day of the month, and posts its message some seconds later.
func (m *month) open(pool string, mode incident.Mode, day float64, alerts ...string) *Life {
	m.t.Helper()
	at := m.since.Add(time.Duration(day * float64(24*time.Hour))).Truncate(time.Second)
	l := Open(m.t, fmt.Sprintf("inc-%03d", len(m.all)+1), pool, mode, at, alerts...)
	m.all = append(m.all, Posted{l, at.Add(time.Duration(3+len(m.all)%5) * time.Second)})
	return l
}

// bursts are over before anybody has looked.
func (m *month) bursts(pool string) {
	m.t.Helper()
	for n := range 12 {
		m.open(pool, incident.ModeApprove, 0.4+2.2*float64(n), "vLLMQueueBacklog").Wait(time.Minute).Find("burst").
			Wait(time.Duration(60+12*n) * time.Second).Healthy().Wait(10 * time.Minute).Close()
	}
}

// overloads need replicas, which help; some are decided by nobody, by policy, or while changes are paused.
func (m *month) overloads(pool string) {
	m.t.Helper()
	ask := func(day float64) *Life {
		return m.open(pool, incident.ModeApprove, day, "vLLMHighTTFT", "vLLMQueueBacklog").Wait(time.Minute).
			Find("queueing", Replicas(pool, "2", "3")).Ask()
	}
	for n := range 5 {
		by := []incident.Actor{Alice, Bob}[n%2]
		ask(1.1+5*float64(n)).Wait(time.Duration(2+3*n)*time.Minute).Approve("p1-s1", by).Write().Wait(6 * time.Minute).
			Judge(incident.VerdictRecovered).Wait(10 * time.Minute).Close()
	}
	ask(4.7).Wait(time.Hour).Do(incident.Expired{}).Wait(40 * time.Minute).Healthy().Wait(10 * time.Minute).Close()
	ask(9.7).Wait(time.Hour).Do(incident.Expired{}).Wait(25 * time.Minute).Healthy().Wait(10 * time.Minute).Close()
	l := ask(14.7).Wait(4*time.Minute).Approve("p1-s1", Alice)
	l.Do(incident.Stopped{Step: "p1-s1", Op: incident.OpApply, Why: incident.Reason{
		Kind: incident.ReasonPaused, Who: Bob, Text: "node upgrade",
	}}).Wait(50 * time.Minute).Healthy().Wait(10 * time.Minute).Close()
	ask(19.7).Wait(3*time.Minute).Approve("p1-s1", Alice).Write().Wait(5 * time.Minute).Do(incident.Reverted{
		Step: "p1-s1", Reversal: incident.Reversal{Value: incident.Set("2"), By: "argocd-controller"},
	}).Wait(20 * time.Minute).Healthy().Wait(10 * time.Minute).Close()
	m.open(pool, incident.ModeAuto, 24.7, "vLLMHighTTFT", "vLLMQueueBacklog").Wait(time.Minute).
		Find("overload", Throttle(pool, "256", "128")).Approve("p1-s1", Policy).Write().Wait(4 * time.Minute).
		Judge(incident.VerdictRecovered).Wait(10 * time.Minute).Lift("p1-s1").Wait(time.Minute).Healthy().
		Wait(10 * time.Minute).Close()
}

// longPrompts are treated with fewer tokens a turn, which has never helped here.
func (m *month) longPrompts(pool string) {
	m.t.Helper()
	for n := range 3 {
		l := m.open(pool, incident.ModeApprove, 3.3+8*float64(n), "vLLMHighTPOT").Wait(time.Minute).
			Find("prefill_interference", Tokens(pool, "8192", "4096")).Ask().Wait(time.Duration(5+n)*time.Minute).
			Approve("p1-s1", Alice).Write().Wait(8 * time.Minute).Judge(incident.VerdictUnchanged)
		if n == 0 {
			l.Wait(time.Hour).Do(incident.Expired{})
		} else {
			l.Wait(2*time.Minute).Undo("p1-s1", Alice)
		}
		l.Wait(30 * time.Minute).Healthy().Wait(10 * time.Minute).Close()
	}
	m.open(pool, incident.ModeApprove, 26.2, "vLLMHighTPOT").Wait(time.Minute).
		Find("prefill_interference", Tokens(pool, "8192", "4096")).Ask().Wait(7*time.Minute).Deny("", Bob).
		Wait(30 * time.Minute).Healthy().Wait(10 * time.Minute).Close()
}

// sickEngines are diagnosed by nobody.
func (m *month) sickEngines(pool string) {
	m.t.Helper()
	for n := range 4 {
		m.open(pool, incident.ModeApprove, 6.6+5*float64(n), "NodeGPUClockLow").Wait(time.Minute).Find("").
			Wait(25 * time.Minute).Healthy().Wait(10 * time.Minute).Close()
	}
}

// dryRuns write nothing.
func (m *month) dryRuns(pool string) {
	m.t.Helper()
	for n := range 4 {
		l := m.open(pool, incident.ModeDryRun, 2.5+6*float64(n), "vLLMKVCachePressure").Wait(time.Minute).
			Find("kv_thrash", Replicas(pool, "4", "6")).Ask().Wait(5 * time.Minute)
		if n < 3 {
			l.Approve("p1-s1", Alice).Write().Judge(incident.VerdictInconclusive)
		} else {
			l.Wait(time.Hour).Do(incident.Expired{})
		}
		if n > 0 {
			l.Wait(20 * time.Minute).Healthy().Wait(10 * time.Minute).Close()
			continue
		}
		l.Wait(3 * time.Hour).Do(incident.Closed{By: Bob, Reason: "moved the traffic"})
	}
}

// strangers are alerts that lead to no pool.
func (m *month) strangers() {
	m.t.Helper()
	l := m.open("", incident.ModeObserve, 11, "KubePodCrashLooping")
	l.Do(incident.Muted{}).Wait(time.Hour).Close()
}

// now is what is going on at the end.
func (m *month) now(pool string) {
	m.t.Helper()
	m.open(pool, incident.ModeApprove, 30-20.0/60/24, "vLLMHighTTFT").Wait(time.Minute).
		Find("queueing", Replicas(pool, "3", "4")).Ask()
}
