package image

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/vllm-medic/vllm-medic/test/size"
)

// The image ships the licenses of all that is linked, and everything that is linked is under a license on the list.
// The list and its tests are in a module of their own, because only they need to know what licenses look like.
func TestTheLicensesOfEverythingThatIsLinkedAreShipped(t *testing.T) {
	t.Parallel()
	size.Needs(t, size.Medium)
	const module = root + "/tools/release/licenses"
	cmd := exec.CommandContext(t.Context(), "go", "test", "-vet=off", "-count=1", ".")
	cmd.Dir, cmd.Env = module, append(os.Environ(), "GOFLAGS=", "GOWORK=off", "CGO_ENABLED=0")
	if text, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("go test in %s: %v\n%s", module, err, text)
	}
	_, shipped := stages(t)
	for _, i := range shipped.body {
		if to, from := target(i.rest); i.word == "COPY" && strings.HasPrefix(to, "/licenses/") {
			if from[0] != "/src/THIRD_PARTY_LICENSES" {
				t.Errorf("%s comes from %s", to, from[0])
			}
			return
		}
	}
	t.Error("the image has no folder /licenses")
}
