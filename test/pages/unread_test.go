package pages

import (
	"bufio"
	"bytes"
	"strings"
	"testing"

	"github.com/vllm-medic/vllm-medic/test/unread"
)

// A family that nothing reads would only be stored and scraped. Real servers have many.
func TestPagesHoldOnlyWhatIsRead(t *testing.T) {
	t.Parallel()
	for _, page := range pageNames(t) {
		var families []string
		lines := bufio.NewScanner(bytes.NewReader(text(t, page)))
		for lines.Scan() {
			if fields := strings.Fields(lines.Text()); len(fields) > 3 && fields[1] == "TYPE" {
				families = append(families, fields[2])
			}
		}
		if err := lines.Err(); err != nil {
			t.Fatal(err)
		}
		if left := unread.Of(t, families); len(left) > 0 {
			t.Errorf("%s: nothing reads %s", page, strings.Join(left, " "))
		}
	}
}
