package scenarios

import (
	"os"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/vllm-medic/vllm-medic/test/identity"
	"github.com/vllm-medic/vllm-medic/test/kubetest"
	"github.com/vllm-medic/vllm-medic/test/machine"
	"github.com/vllm-medic/vllm-medic/test/postgres"
	"github.com/vllm-medic/vllm-medic/test/program"
	"github.com/vllm-medic/vllm-medic/test/size"
)

// kube is one API server for all journeys; each that needs it has a namespace of its own.
var kube *kubetest.Shared

// issuer is where the people of its kubeconfigs log in, and users signs the certificates of others. bots signs those of
// bots that serve HTTPS.
var (
	issuer      *identity.Issuer
	users, bots *identity.Authority
)

// bin is the folder with the built program, and keeper the one with what journeys run in its place: see reading.
var bin, keeper string

// atOnce is how many journeys run at a time: they wait more than they compute.
const atOnce = 4

func TestMain(m *testing.M) {
	program.Main("../../cmd/vllm-medic", func(folder, _ string) (int, error) { return run(m, folder) })
}

func run(m *testing.M, dir string) (code int, err error) {
	bin = dir
	if keeper, err = keepWhatIsSaid(dir); err != nil {
		return 1, err
	}
	if err := machine.AtOnce(atOnce); err != nil {
		return 1, err
	}
	if issuer, err = identity.StartIssuer(dir); err != nil {
		return 1, err
	}
	defer issuer.Close()
	for name, a := range map[string]**identity.Authority{"users": &users, "bots": &bots} {
		if *a, err = identity.NewAuthority(dir, name); err != nil {
			return 1, err
		}
	}
	args := append(issuer.ServerArgs(), "--client-ca-file="+users.File)
	kube = kubetest.Share(kubetest.Options{Controllers: true, Kwok: true, ServerArgs: args})
	defer postgres.Stop()
	return kube.Main(m), nil
}

func TestJourneys(t *testing.T) {
	t.Parallel()
	size.Needs(t, size.Medium)
	metrics := newMetrics(t)
	testscript.Run(t, testscript.Params{
		Dir: "testdata", RequireUniqueNames: true, UpdateScripts: os.Getenv("UPDATE_SCENARIOS") != "",
		Setup: func(env *testscript.Env) error { return setup(env, metrics) },
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"serve": serve, "sigterm": sigterm, "kill9": kill9, "post": post, "get": get, "until": until, "log": showLog,
			"capture": capture, "token": token, "grant": grant, "replicas": replicas, "usage": usage, "disk": disk,
			"voice": keepsToTheVoice, "slack": slack, "tamper": tamper, "hooks": hooksDo,
			"drill": drill, "object": object, "mount": mount, "pair": pair, "served": served, "sighup": sighup,
			"person": person, "prometheus": prometheus(metrics), "looked": looked,
			"autoscaler": autoscaler,
		},
	})
}
