package main

import (
	"bytes"
	"debug/buildinfo"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/CycloneDX/cyclonedx-go"
	"github.com/santhosh-tekuri/jsonschema/v6"
)

// specification is the version of CycloneDX that is written.
const specification = "1.6"

// sbom writes what a program is made of, as the program itself says it, and checks it: by CycloneDX' own schema, and
// that every module that is linked is in it.
func (r release) sbom(out, program, arch string) error {
	file := filepath.Join(out, "vllm-medic_"+r.version+"_linux_"+arch+".cdx.json")
	// Without a serial number and a time, so that the same program has the same SBOM.
	cmd := exec.Command("go", "tool", "cyclonedx-gomod", "bin", "-json", "-std", "-noserial", "-notimestamp",
		"-output-version", specification, "-version", r.version, "-output", file, program)
	if text, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("the SBOM for linux/%s: %w\n%s", arch, err, text)
	}
	raw, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	if err := errors.Join(valid(raw), complete(raw, program)); err != nil {
		return fmt.Errorf("the SBOM for linux/%s: %w", arch, err)
	}
	return nil
}

// valid holds an SBOM against the schema that comes with CycloneDX' library.
func valid(raw []byte) error {
	where, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "github.com/CycloneDX/cyclonedx-go").Output()
	if err != nil {
		return fmt.Errorf("CycloneDX' schema: %w", err)
	}
	folder := filepath.Join(strings.TrimSpace(string(where)), "schema")
	c := jsonschema.NewCompiler()
	for id, file := range map[string]string{
		"http://cyclonedx.org/schema/bom-" + specification + ".schema.json": "bom-" + specification + ".schema.json",
		"http://cyclonedx.org/schema/spdx.schema.json":                      "spdx.schema.json",
		"http://cyclonedx.org/schema/jsf-0.82.schema.json":                  "jsf-0.82.schemax.json",
	} {
		text, err := os.ReadFile(filepath.Join(folder, file))
		if err != nil {
			return err
		}
		doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
		if err != nil {
			return err
		}
		if err := c.AddResource(id, doc); err != nil {
			return err
		}
	}
	schema, err := c.Compile("http://cyclonedx.org/schema/bom-" + specification + ".schema.json")
	if err != nil {
		return err
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(raw))
	if err != nil {
		return err
	}
	return schema.Validate(doc)
}

// complete fails when a module that the program names is not in its SBOM with its version.
func complete(raw []byte, program string) error {
	var bom cyclonedx.BOM
	if err := json.Unmarshal(raw, &bom); err != nil {
		return err
	}
	info, err := buildinfo.ReadFile(program)
	if err != nil {
		return err
	}
	if bom.Components == nil {
		return errors.New("it names nothing")
	}
	for _, m := range info.Deps {
		if m.Replace != nil {
			m = m.Replace
		}
		named := func(c cyclonedx.Component) bool { return c.Name == m.Path && c.Version == m.Version }
		if !slices.ContainsFunc(*bom.Components, named) {
			return fmt.Errorf("%s %s is linked and not in it", m.Path, m.Version)
		}
	}
	return nil
}
