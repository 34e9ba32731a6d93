package kubeapi

import (
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	metavalidation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/yaml"
)

// maxBody bounds a request, as the API server does.
const maxBody = 3 << 20

// serve answers a request for a resource.
func (s *Server) serve(a answer, r *http.Request, p place) error {
	if err := s.authorize(p); err != nil {
		return err
	}
	switch {
	case p.isReview():
		return s.review(a, r, p)
	case !hasGroup(s.served(), p.Group):
		a.nothingHere()
		return nil
	case p.kind == nil || !p.kind.serves(p.sub) || !p.kind.namespaced && p.namespace != "":
		return noResource()
	case !p.allowed():
		return noMethod()
	}
	switch p.verb {
	case "get":
		return s.serveGet(a, r, p)
	case "list":
		var opts metav1.ListOptions
		if err := metav1.Convert_url_Values_To_v1_ListOptions(values(r), &opts, nil); err != nil {
			return apierrors.NewBadRequest(err.Error())
		}
		l, err := s.list(p.kind, p.namespace, opts)
		if err == nil {
			a.object(http.StatusOK, l)
		}
		return err
	case "create":
		return s.serveCreate(a, r, p)
	case "update":
		return s.serveUpdate(a, r, p)
	case "patch":
		return s.servePatch(a, r, p)
	}
	return s.serveDelete(a, r, p)
}

// allowed says whether the place takes the verb at all.
func (p place) allowed() bool {
	switch {
	case p.sub == "log":
		return p.verb == "get"
	case p.sub != "":
		return slices.Contains([]string{"get", "update", "patch"}, p.verb)
	case p.name == "":
		return p.verb == "list" || p.verb == "create" && (p.namespace != "" || !p.kind.namespaced)
	}
	if p.kind.namespaced && p.namespace == "" {
		return false
	}
	return slices.Contains([]string{"get", "update", "patch", "delete"}, p.verb)
}

func values(r *http.Request) *url.Values {
	q := r.URL.Query()
	return &q
}

func (s *Server) serveGet(a answer, r *http.Request, p place) error {
	if p.sub == "log" {
		return s.serveLog(a, r, p)
	}
	o, err := s.get(p.kind, p.namespace, p.name)
	if err == nil && p.sub == "scale" {
		o, err = p.kind.scaleOf(o)
	}
	if err != nil {
		return err
	}
	a.object(http.StatusOK, o.Object)
	return nil
}

func (s *Server) serveCreate(a answer, r *http.Request, p place) error {
	var opts metav1.CreateOptions
	if err := metav1.Convert_url_Values_To_v1_CreateOptions(values(r), &opts, nil); err != nil {
		return apierrors.NewBadRequest(err.Error())
	}
	if err := badOptions("CreateOptions", metavalidation.ValidateCreateOptions(&opts)); err != nil {
		return err
	}
	o, warnings, err := p.kind.read(r, opts.FieldValidation)
	if err != nil {
		return err
	}
	o, err = s.create(p.kind, p.namespace, o, how{manager: managerOf(opts.FieldManager, r), dryRun: len(opts.DryRun) > 0})
	if err != nil {
		return err
	}
	a.warn(warnings)
	a.object(http.StatusCreated, o.Object)
	return nil
}

func (s *Server) serveUpdate(a answer, r *http.Request, p place) error {
	var opts metav1.UpdateOptions
	if err := metav1.Convert_url_Values_To_v1_UpdateOptions(values(r), &opts, nil); err != nil {
		return apierrors.NewBadRequest(err.Error())
	}
	if err := badOptions("UpdateOptions", metavalidation.ValidateUpdateOptions(&opts)); err != nil {
		return err
	}
	of := p.kind
	if p.sub == "scale" {
		of = scales
	}
	o, warnings, err := of.read(r, opts.FieldValidation)
	if err != nil {
		return err
	}
	if o.GetName() != p.name {
		return apierrors.NewBadRequest(fmt.Sprintf("the name of the object (%s) does not match the name on the URL (%s)",
			o.GetName(), p.name))
	}
	if p.kind.namespaced && o.GetNamespace() == "" {
		o.SetNamespace(p.namespace)
	}
	h := how{manager: managerOf(opts.FieldManager, r), dryRun: len(opts.DryRun) > 0}
	next := func(*unstructured.Unstructured) (*unstructured.Unstructured, error) { return o, nil }
	if p.sub == "scale" {
		o, err = s.rescale(p.kind, p.namespace, p.name, h, next)
	} else {
		o, err = s.update(p.kind, p.sub, p.namespace, p.name, h, next)
	}
	if err != nil {
		return err
	}
	a.warn(warnings)
	a.object(http.StatusOK, o.Object)
	return nil
}

func (s *Server) servePatch(a answer, r *http.Request, p place) error {
	sent, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if known := p.kind.patchTypes(); err != nil || !slices.Contains(known, sent) {
		no := unsupported("the body of the request was in an unknown format - accepted media types include: %s", known)
		if p.kind.custom() {
			no.ErrStatus.Details = nil
		}
		return no
	}
	var opts metav1.PatchOptions
	if err := metav1.Convert_url_Values_To_v1_PatchOptions(values(r), &opts, nil); err != nil {
		return apierrors.NewBadRequest(err.Error())
	}
	if err := badOptions("PatchOptions", metavalidation.ValidatePatchOptions(&opts, types.PatchType(sent))); err != nil {
		return err
	}
	text, err := body(r)
	if err != nil {
		return err
	}
	patch := patchBody{kind: types.PatchType(sent), text: text, validation: validationOf(opts.FieldValidation)}
	h := how{
		manager: managerOf(opts.FieldManager, r), dryRun: len(opts.DryRun) > 0, patch: true,
		force: opts.Force != nil && *opts.Force,
	}
	var o *unstructured.Unstructured
	var warnings []error
	code := http.StatusOK
	if p.sub == "scale" {
		if patch.kind == types.ApplyYAMLPatchType {
			return unsupported("this API takes no apply of a scale - accepted media types include: %s",
				[]string{string(types.JSONPatchType), string(types.MergePatchType)})
		}
		o, err = s.rescale(p.kind, p.namespace, p.name, h, func(now *unstructured.Unstructured) (
			next *unstructured.Unstructured, err error,
		) {
			next, warnings, err = patch.to(now.Object, func() runtime.Object { return scales.typed() }, scales.decodeText)
			return next, err
		})
	} else {
		o, code, warnings, err = s.patch(p.kind, p.sub, p.namespace, p.name, patch, h)
	}
	if err != nil {
		return err
	}
	a.warn(warnings)
	a.object(code, o.Object)
	return nil
}

func (s *Server) serveDelete(a answer, r *http.Request, p place) error {
	var opts metav1.DeleteOptions
	if err := metav1.Convert_url_Values_To_v1_DeleteOptions(values(r), &opts, nil); err != nil {
		return apierrors.NewBadRequest(err.Error())
	}
	text, err := body(r)
	if err != nil {
		return err
	}
	if err := readDeleteOptions(text, r.Header.Get("Content-Type"), &opts); err != nil {
		return apierrors.NewBadRequest(err.Error())
	}
	if err := badOptions("DeleteOptions", metavalidation.ValidateDeleteOptions(&opts)); err != nil {
		return err
	}
	o, gone, err := s.remove(p.kind, p.namespace, p.name, opts)
	switch {
	case err != nil:
		return err
	case gone && !p.kind.graceful:
		a.object(http.StatusOK, success(p.kind, o))
	default:
		a.object(http.StatusOK, o.Object)
	}
	return nil
}

// read reads an object from a request.
func (k *kind) read(r *http.Request, validation string) (o *unstructured.Unstructured, warnings []error, err error) {
	text, err := body(r)
	if err != nil {
		return nil, nil, err
	}
	decode := k.decodeText
	switch sent, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); {
	case r.Header.Get("Content-Type") == "", err == nil && sent == runtime.ContentTypeJSON:
	case err == nil && sent == runtime.ContentTypeYAML:
		if text, err = yaml.YAMLToJSON(text); err != nil {
			return nil, nil, apierrors.NewBadRequest(err.Error())
		}
	case err == nil && sent == runtime.ContentTypeProtobuf && !k.custom():
		decode = k.decodeProtobuf
	default:
		no := unsupported("the body of the request was in an unknown format - accepted media types include: %s",
			[]string{runtime.ContentTypeJSON, runtime.ContentTypeYAML, runtime.ContentTypeProtobuf})
		no.ErrStatus.Details = nil
		return nil, nil, no
	}
	o, unknown, err := decode(text)
	if err == nil && validation == metav1.FieldValidationStrict && len(unknown) > 0 {
		err = runtime.NewStrictDecodingError(unknown)
	}
	if err != nil {
		return nil, nil, apierrors.NewBadRequest(fmt.Sprintf("%s in version %q cannot be handled as a %s: %v", k.Kind,
			k.Version, k.Kind, err))
	}
	if have := o.GroupVersionKind(); have != k.gvk() {
		return nil, nil, apierrors.NewBadRequest(fmt.Sprintf("the API version in the data (%s) does not match the expected "+
			"API version (%s), or it is no %s", have.GroupVersion(), k.GroupVersion(), k.Kind))
	}
	if validationOf(validation) == metav1.FieldValidationIgnore {
		unknown = nil
	}
	return o, unknown, nil
}

func body(r *http.Request) ([]byte, error) {
	text, err := io.ReadAll(io.LimitReader(r.Body, maxBody+1))
	switch {
	case err != nil:
		return nil, apierrors.NewBadRequest(err.Error())
	case len(text) > maxBody:
		return nil, apierrors.NewRequestEntityTooLargeError(fmt.Sprintf("limit is %d", maxBody))
	}
	return text, nil
}

// badOptions refuses parameters that are not valid.
func badOptions(kind string, all field.ErrorList) error {
	if len(all) == 0 {
		return nil
	}
	return apierrors.NewInvalid(schema.GroupKind{Group: metav1.GroupName, Kind: kind}, "", all)
}

func validationOf(asked string) string {
	if asked == "" {
		return metav1.FieldValidationWarn
	}
	return asked
}

// managerOf names who writes: what the request says, or its program.
func managerOf(said string, r *http.Request) string {
	if said != "" {
		return said
	}
	program, _, _ := strings.Cut(r.UserAgent(), "/")
	if b := []byte(program); len(b) > metavalidation.FieldManagerMaxLength {
		program = string(b[:metavalidation.FieldManagerMaxLength])
	}
	return program
}
