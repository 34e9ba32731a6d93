package scenarios

import (
	"context"
	"crypto/x509"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"k8s.io/client-go/tools/clientcmd"

	"github.com/vllm-medic/vllm-medic/test/kubetest"
)

// person writes the kubeconfig of somebody whom the cluster knows, with one context, work: person FILE EMAIL KIND.
//
// login names a program that prints a token, as kubectl's plugins do; expired and elsewhere are tokens that are over or
// for another program; of-pod is the one that a pod of an account has; password is no token at all. certificate is a
// client certificate, late one that has expired, and stranger one that another authority has signed.
func person(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 3 {
		ts.Fatalf("usage: person FILE EMAIL login|expired|elsewhere|of-pod|password|certificate|late|stranger")
	}
	j, email, rc := of(ts), args[1], kube.Cluster(of(ts).t).AdminConfig()
	user := &clientcmdapi.AuthInfo{}
	switch args[2] {
	case "login":
		token := issuer.Token(j.t, email, nil, nil)
		j.known(token)
		script := ts.MkAbs(args[0] + "-login")
		ts.Check(os.WriteFile(script, fmt.Appendf(nil, `#!/bin/sh
echo '{"apiVersion": "client.authentication.k8s.io/v1", "kind": "ExecCredential", "status": {"token": "%s"}}'
`, token), 0o700))
		user.Exec = &clientcmdapi.ExecConfig{
			APIVersion: "client.authentication.k8s.io/v1", Command: script,
			InteractiveMode: clientcmdapi.IfAvailableExecInteractiveMode,
		}
	case "expired":
		user.Token = issuer.Token(j.t, email, nil, map[string]any{"exp": time.Now().Add(-time.Minute).Unix()})
	case "elsewhere":
		user.Token = issuer.Token(j.t, email, nil, map[string]any{"aud": "grafana"})
	case "of-pod":
		user.Token = kube.Cluster(j.t).ServiceAccountToken(j.t, j.ns, email)
	case "password":
		user.Username, user.Password = email, secret
	case "certificate":
		user.ClientCertificateData, user.ClientKeyData = users.Sign(j.t, email, nil, nil)
	case "late":
		user.ClientCertificateData, user.ClientKeyData = users.Sign(j.t, email, nil, func(c *x509.Certificate) {
			c.NotAfter = time.Now().Add(-time.Minute)
		})
	case "stranger":
		user.ClientCertificateData, user.ClientKeyData = bots.Sign(j.t, email, nil, nil)
	default:
		ts.Fatalf("there is no kind %q", args[2])
	}
	ts.Check(clientcmd.WriteToFile(clientcmdapi.Config{
		Clusters:  map[string]*clientcmdapi.Cluster{"test": {Server: rc.Host, CertificateAuthority: rc.CAFile}},
		AuthInfos: map[string]*clientcmdapi.AuthInfo{"me": user},
		Contexts:  map[string]*clientcmdapi.Context{"work": {Cluster: "test", AuthInfo: "me"}}, CurrentContext: "work",
	}, filepath.Clean(ts.MkAbs(args[0]))))
}

// known waits until the API server knows whose token it is: it reads the issuer's keys some time after its start.
func (j *journey) known(token string) {
	k, err := kubernetes.NewForConfig(kube.Cluster(j.t).ConfigWithToken(token))
	if err != nil {
		j.t.Fatal(err)
	}
	kubetest.Eventually(j.t, "the issuer's keys at the API server", func(ctx context.Context) error {
		_, err := k.AuthenticationV1().SelfSubjectReviews().Create(ctx, &authenticationv1.SelfSubjectReview{},
			metav1.CreateOptions{})
		return err
	})
}
