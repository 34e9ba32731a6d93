package actions_test

import (
	"bytes"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/vllm-medic/vllm-medic/test/size"
)

// simulatedVariable makes this package's tests run on the sandbox's cluster.
const simulatedVariable = "VLLM_MEDIC_TEST_SIMULATED"

func onSimulated() bool { return os.Getenv(simulatedVariable) != "" }

// alike are the tests of the write path: what is proposed, made, refused, lost, changed by others and taken back. With
// simulatedVariable set, go test runs all others on the sandbox's cluster as well; those fail that need admission,
// Roles, service accounts, or that no scheduler is there.
func alike() []string {
	return []string{
		"TestAStepIsProposedMadeSeenAndTakenBack",
		"TestAWriteSaysOnWhichVersionItWasMadeAndWhichItMade",
		"TestTheArgumentsThatAreNotTurnedStayByteForByte",
		"TestAValueThatSomebodyElseChangedIsLeftAlone",
		"TestAValueThatSomebodyElseChangesBetweenTheLookAndTheWriteIsLeftAlone",
		"TestAnObjectThatWasDeletedOrMadeAgainIsLeftAlone",
		"TestAnAutoscalerThatCameSinceTheProposalIsDrift",
		"TestALostAnswerIsUnknownAndTheWriteIsRecognised",
		"TestALostRequestIsUnknownAndTheWriteCanBeMade",
		"TestAValueThatTheSchemaRefusesIsRefusedAndNotDrift",
		"TestAValueOutsideOfTheBoundsIsNotWritten",
		"TestADryRunWritesNothing",
		"TestADryRunSeesDriftToo",
		"TestWithoutTheRightToWriteADryRunGoesOnAndTheRealThingIsRefused",
		"TestAWriteThatWasSetBackIsNotTakenForOneThatDidNotHappen",
		"TestAWriteThatDidNotHappenIsToldFromOneThatWasSetBack",
		"TestAnUndoThatWasSetBackIsNotMadeAgain",
		"TestARolloutIsDoneWhenThePodsAreReady",
		"TestARolloutWhosePodsFindNoNodeIsRunningAndThenFailed",
		"TestTheAutoscalerFollowsTheRaisedMinimum",
		"TestAnAutoscalersMinimumStopsAtItsMaximum",
		"TestTheUndoOfAnAddedFlagKeepsWhatOthersChanged",
	}
}

// The bot writes, refuses to write and takes back on the sandbox's cluster as it does on a real one.
func TestTheWritePathIsTheSameOnTheSandboxsCluster(t *testing.T) {
	t.Parallel()
	size.Needs(t, size.Medium)
	args := []string{"-test.v=true", "-test.parallel=8", "-test.run=^(" + strings.Join(alike(), "|") + ")$"}
	cmd := exec.CommandContext(t.Context(), os.Args[0], args...) // the program is this test itself
	cmd.Env = append(os.Environ(), simulatedVariable+"=yes")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, failures(out))
	}
	for _, name := range alike() {
		if !bytes.Contains(out, []byte("--- PASS: "+name+" (")) {
			t.Errorf("%s did not run", name)
		}
	}
}

// failures are the lines of a run that say what failed.
func failures(out []byte) string {
	var b strings.Builder
	for line := range strings.Lines(string(out)) {
		quiet := []string{"=== ", "--- PASS", "PASS"}
		if !slices.ContainsFunc(quiet, func(p string) bool { return strings.HasPrefix(strings.TrimSpace(line), p) }) {
			b.WriteString(line)
		}
	}
	return b.String()
}
