package main

import (
	"bufio"
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/vllm-medic/vllm-medic/internal/audit"
	"github.com/vllm-medic/vllm-medic/internal/config"
	"github.com/vllm-medic/vllm-medic/internal/incident"
	"github.com/vllm-medic/vllm-medic/internal/present"
	"github.com/vllm-medic/vllm-medic/internal/store"
)

func auditCommand(t terminal) *cobra.Command {
	cmd := &cobra.Command{
		Use: "audit", Short: "verify and export what was decided and changed",
		Long: "Verify and export what was decided and changed.\n\nReads the bot's store; nothing is written, and the bot " +
			"may run or be down.",
	}
	cmd.AddCommand(verifyAudit(t), exportAudit(t))
	return cmd
}

// journals opens the store of a configuration and lists the incidents in it: those of the arguments, or all.
func journals(ctx context.Context, t terminal, file string, ids []string) (*store.Reader, []string, error) {
	if file == "" {
		return nil, nil, usageError{"audit: --config FILE is required, or set VLLM_MEDIC_CONFIG; it names the store"}
	}
	raw, err := config.StoreURL(file, config.Options{Getenv: t.getenv})
	if err != nil {
		return nil, nil, asConfigErrors(err)
	}
	r, err := store.OpenReadOnly(ctx, raw)
	if err != nil || len(ids) > 0 {
		return r, ids, err
	}
	ids, err = r.Audited(ctx)
	if err != nil {
		return nil, nil, errors.Join(err, r.Close())
	}
	return r, ids, nil
}

func verifyAudit(t terminal) *cobra.Command {
	cmd := &cobra.Command{
		Use: "verify [ID]...", Short: "find entries that were changed, added or removed",
		Long: "Find journal entries that were changed, added, moved or removed, in all incidents or in those named.\n\n" +
			"Someone who can write to the database can also write new hashes. A head from the log or from a Slack thread, " +
			"which they can't change, shows that too: pass it with --head.",
	}
	fs := cmd.Flags()
	file := configFlag(fs, t)
	given := fs.StringArray("head", nil, "`ID=HEAD`, an incident's head as the log or a Slack thread shows it; repeatable")
	format := formatFlag(cmd, "text")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		heads, err := parseHeads(*given)
		if err != nil {
			return err
		}
		r, ids, err := journals(cmd.Context(), t, *file, args)
		if err != nil {
			return err
		}
		if len(args) == 0 {
			for id := range heads { // of an incident of which nothing is left the store says nothing
				if !slices.Contains(ids, id) {
					ids = append(ids, id)
				}
			}
			slices.Sort(ids)
		}
		got, err := verify(cmd.Context(), r, ids, heads)
		if err := errors.Join(err, r.Close()); err != nil {
			return fmt.Errorf("audit verify: %w", err)
		}
		if format.value != "text" {
			err = write(t.out, format.value, got)
		} else {
			printVerified(t, got)
		}
		if err == nil && len(got.Findings) > 0 {
			return errFound
		}
		return err
	}
	return cmd
}

// verified is what audit verify found.
type verified struct {
	Incidents int `json:"incidents"`
	Entries   int `json:"entries"`
	// Removed counts the journals that were removed after their time, Unhashed the entries from before there were hashes.
	Removed  int `json:"removed"`
	Unhashed int `json:"unhashed"`
	// Uncompared counts the incidents without a head from outside of the store, UncomparedRemoved those of them that were
	// removed: of these the store's own word is all there is.
	Uncompared        int             `json:"uncompared"`
	UncomparedRemoved int             `json:"uncomparedRemoved"`
	Findings          []audit.Finding `json:"findings"`
}

func verify(ctx context.Context, r *store.Reader, ids []string, heads map[string][]string) (verified, error) {
	out := verified{Incidents: len(ids), Findings: []audit.Finding{}}
	for _, id := range ids {
		c, _, err := r.Chain(ctx, id)
		if err != nil {
			return out, err
		}
		out.Entries += len(c.Rows)
		if c.Removed != nil {
			out.Removed++
		}
		if len(heads[id]) == 0 {
			out.Uncompared++
			if c.Removed != nil {
				out.UncomparedRemoved++
			}
		}
		for _, row := range c.Rows {
			if row.Seq <= c.Unhashed {
				out.Unhashed++
			}
		}
		out.Findings = append(out.Findings, audit.Check(c, heads[id]...)...)
	}
	return out, nil
}

func printVerified(t terminal, got verified) {
	for _, f := range got.Findings {
		say(t.out, "%s: %s\n", f.Incident, f.What)
	}
	if len(got.Findings) > 0 {
		say(t.out, "\n")
	}
	entries := fmt.Sprintf("%d entries", got.Entries)
	if got.Entries == 1 {
		entries = "1 entry"
	}
	say(t.out, "%s, %s, %s.\n", count(got.Incidents, "incident"), entries, count(len(got.Findings), "finding"))
	if got.Removed > 0 {
		say(t.out, "%d of the incidents were removed after their time; their last heads are kept.\n", got.Removed)
	}
	if got.Unhashed > 0 {
		say(t.out, "%d entries are from before journals were chained: they are as they were when that began.\n", got.Unhashed)
	}
	if got.Uncompared > 0 {
		say(t.out, "No head was given for %d of the incidents: this doesn't rule out someone who rewrote their hashes as "+
			"well (docs/audit.md).\n", got.Uncompared)
	}
	if got.UncomparedRemoved > 0 {
		say(t.out, "%d of those were removed, which only the store says: compare with the log's lines about removed "+
			"incidents.\n", got.UncomparedRemoved)
	}
}

// parseHeads reads ID=HEAD. A head may be shortened, but not so far that another one fits it by chance.
func parseHeads(given []string) (map[string][]string, error) {
	heads := map[string][]string{}
	for _, g := range given {
		id, head, ok := strings.Cut(g, "=")
		head = strings.ToLower(head)
		switch {
		case !ok || id == "":
			return nil, usageError{fmt.Sprintf("audit verify: --head %q is not ID=HEAD", g)}
		case len(head) < audit.ShortLength || len(head) > 64 || !digits(head):
			return nil, usageError{fmt.Sprintf("audit verify: the head in --head %q is not %d to 64 hexadecimal digits", g,
				audit.ShortLength)}
		}
		heads[id] = append(heads[id], head)
	}
	return heads, nil
}

func digits(s string) bool {
	_, err := hex.DecodeString(s + strings.Repeat("0", len(s)%2))
	return err == nil
}

func exportAudit(t terminal) *cobra.Command {
	cmd := &cobra.Command{
		Use: "export [ID]...", Short: "print every journal entry as JSON, one a line",
		Long: "Print every journal entry of all incidents, or of those named, as JSON, one a line: who, when, which plan " +
			"and step, which diff, which object in which version before and after, and the hashes.",
	}
	file := configFlag(cmd.Flags(), t)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		r, ids, err := journals(cmd.Context(), t, *file, args)
		if err != nil {
			return err
		}
		if err := errors.Join(export(cmd.Context(), r, ids, t.out), r.Close()); err != nil {
			return fmt.Errorf("audit export: %w", err)
		}
		return nil
	}
	return cmd
}

// exported is a line of the export: an entry, or the note of a journal that was removed. The entry has the bytes over
// which its hash was made.
type exported struct {
	Incident string `json:"incident"`
	Pool     string `json:"pool,omitempty"`
	Seq      int64  `json:"seq,omitempty"`
	Thread   bool   `json:"thread,omitempty"`
	Before   string `json:"before,omitempty"`
	Hash     string `json:"hash,omitempty"`
	// Computed says that the hash is not stored: the entry is from before there were hashes.
	Computed bool            `json:"computed,omitempty"`
	Text     string          `json:"text,omitempty"`
	Entry    json.RawMessage `json:"entry,omitempty"`
	// Stored is what is stored in the place of an entry and is no JSON.
	Stored  string         `json:"stored,omitempty"`
	Removed *exportRemoved `json:"removed,omitempty"`
}

type exportRemoved struct {
	At      time.Time `json:"at"`
	Reason  string    `json:"reason"`
	Entries int64     `json:"entries"`
	Head    string    `json:"head"`
}

func export(ctx context.Context, r *store.Reader, ids []string, to io.Writer) error {
	out := bufio.NewWriter(to)
	enc := json.NewEncoder(out)
	enc.SetEscapeHTML(false)
	for _, id := range ids {
		c, pool, err := r.Chain(ctx, id)
		if err != nil {
			return err
		}
		if !c.Known && !c.Noted && len(c.Rows) == 0 {
			return fmt.Errorf("there is no incident %s", id)
		}
		before := ""
		for _, row := range c.Rows {
			line := exportLine(row)
			line.Incident, line.Pool, line.Before = id, pool, before
			if row.Hash == "" && row.Seq <= c.Unhashed {
				line.Hash, line.Computed = audit.Link(before, id, row), true
			}
			if line.Hash != "" {
				before = line.Hash
			}
			if err := enc.Encode(line); err != nil {
				return err
			}
		}
		if c.Removed != nil {
			gone := exportRemoved{At: c.Removed.At, Reason: c.Removed.Reason, Entries: c.Entries, Head: c.Head}
			if err := enc.Encode(exported{Incident: id, Removed: &gone}); err != nil {
				return err
			}
		}
	}
	return out.Flush()
}

// exportLine is one entry. What is no JSON was not written by the bot, and is shown as it is.
func exportLine(row audit.Row) exported {
	line := exported{Seq: row.Seq, Thread: row.Thread, Hash: row.Hash}
	var e incident.Entry
	if err := json.Unmarshal([]byte(row.Body), &e); err != nil {
		line.Stored = row.Body
		return line
	}
	line.Text, line.Entry = present.Plain(present.Entry(e)), json.RawMessage(row.Body)
	return line
}
