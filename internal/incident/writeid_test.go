package incident

import (
	"strings"
	"testing"
	"time"
)

func TestAWriteIDIsReadAsItIsWritten(t *testing.T) {
	t.Parallel()
	for _, op := range []Op{OpApply, OpUndo} {
		want := WriteID{Incident: "inc-5b3kq2ha", Step: "p12-s3", Op: op, Since: time.Unix(1795725240, 0).UTC()}
		got, ok := ParseWriteID(want.String())
		if !ok || got != want {
			t.Errorf("%s is read as %+v, %v", want, got, ok)
		}
	}
	if got := (WriteID{Incident: "inc-1", Step: "p1-s1", Op: OpUndo, Since: now}).String(); got !=
		"inc-1.p1-s1.undo.1795230000" {
		t.Errorf("what objects carry is another text than before: %s", got)
	}
}

func TestWhatIsNoWriteIDIsNotRead(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"", "w1", "inc-1.p1-s1.apply", "inc-1.p1-s1.apply.1.2", ".p1-s1.apply.1", "inc-1..apply.1", "inc-1.p1-s1.patch.1",
		"inc-1.p1-s1.apply.0", "inc-1.p1-s1.apply.-1", "inc-1.p1-s1.apply.01", "inc-1.p1-s1.apply.+1",
		"inc-1.p1-s1.apply.99999999999999999999", "inc-1.p1-s1.apply.1 ", "Inc-1.p1-s1.apply.1", "inc\x00.p1-s1.apply.1",
		"inc-1.p1-s1.apply.1\n", "*.p1-s1.apply.1", strings.Repeat("i", longestWriteID) + ".p1-s1.apply.1",
	} {
		if got, ok := ParseWriteID(text); ok || got != (WriteID{}) {
			t.Errorf("%q is read as %+v", text, got)
		}
	}
}

func TestAnIDThatIsCutOffNamesNoWrite(t *testing.T) {
	t.Parallel()
	whole := strings.Repeat("i", longestWriteID-len(".p1-s1.apply.1")) + ".p1-s1.apply.1"
	if _, ok := ParseWriteID(ClipWriteID(whole)); !ok {
		t.Error("the longest one is not read any more")
	}
	clipped := ClipWriteID(whole + strings.Repeat("2", 1<<20))
	if _, ok := ParseWriteID(clipped); ok || len(clipped) > 2*longestWriteID {
		t.Errorf("%d bytes of it are read", len(clipped))
	}
}

func FuzzParseWriteID(f *testing.F) {
	f.Add("inc-5b3kq2ha.p1-s1.apply.1795725240")
	f.Add("drill-a.p1-s1.undo.1")
	f.Add("inc-1.p1-s1.apply.-1")
	f.Fuzz(func(t *testing.T, text string) {
		w, ok := ParseWriteID(text)
		if ok && (w.String() != text || len(text) > longestWriteID) {
			t.Errorf("%q is read as %q", text, w)
		}
		if !ok && w != (WriteID{}) {
			t.Errorf("%q is refused with %+v", text, w)
		}
	})
}
