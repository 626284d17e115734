package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/writ-dev/writ/apply"
	"github.com/writ-dev/writ/cluster/client"
	"github.com/writ-dev/writ/nodeagent/runtime/sandbox"
	"github.com/writ-dev/writ/render"
)

// up runs a project in a cluster of its own until ctx ends.
func (a *app) up(ctx context.Context, dir string, o upOptions) (err error) {
	if done, err := enterNamespace(); done {
		return err
	}
	if err := o.src.open(dir); err != nil {
		return err
	}
	run, err := openRunDir(o.src.dir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, run.close()) }()

	images, err := openImages()
	if err != nil {
		return err
	}
	if err := a.buildImages(ctx, &o.src); err != nil {
		return err
	}
	bundle, err := a.render(ctx, &o.src)
	if err != nil {
		return err
	}
	a.step("render", "%d documents from %d files  %s", len(bundle.Documents), len(bundle.Reads), short(bundle.Digest))

	begin := time.Now()
	cluster, err := startLocal(ctx, localOptions{
		run: run, data: o.data, listen: o.listen, images: images, log: a.logger(o.verbose),
	})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, cluster.stop()) }()
	a.step("cluster", "%s  ready in %s", cluster.client.URL(), time.Since(begin).Round(time.Millisecond))

	ctx, cancel := cluster.watch(ctx)
	defer cancel()
	if err := a.deploy(ctx, cluster.client, bundle, o, begin); err != nil {
		return errors.Join(err, cluster.failure())
	}
	if o.untilReady {
		return nil
	}
	if err := a.welcome(ctx, cluster.client, bundle, run); err != nil {
		return err
	}
	a.follow(ctx, cluster.client)
	return cluster.failure()
}

// enterNamespace makes sure that this process may make network namespaces. If
// it may not, the whole command runs in a child in a user namespace, and done
// is true.
func enterNamespace() (done bool, err error) {
	if sandbox.Privileged() {
		return false, nil
	}
	code, err := sandbox.Reenter(os.Args[1:])
	if err == nil && code != 0 {
		err = exitError(code)
	}
	return true, err
}

// deploy plans, shows, commits and waits.
func (a *app) deploy(ctx context.Context, c *client.Client, b *render.Bundle, o upOptions, begin time.Time) error {
	plan, err := apply.Compute(ctx, c, b, o.src.planOptions(planFlags{adopt: true, force: []string{"all"}}))
	if err != nil {
		return o.src.locate(err)
	}
	fmt.Fprintln(a.out)
	plan.Print(a.out, a.color)
	fmt.Fprintln(a.out)
	result, err := apply.Apply(ctx, c, plan, apply.CommitOptions{Bundle: b, AllowDeletes: -1})
	if err != nil {
		return o.src.locate(err)
	}
	a.step("applied", "revision %d, one transaction", result.Revision)

	if err := a.await(ctx, c, plan, o.timeout); err != nil {
		return err
	}
	a.step("ready", "%s after the cluster was started", time.Since(begin).Round(10*time.Millisecond))
	return nil
}

// welcome prints what to open and how to look further.
func (a *app) welcome(ctx context.Context, c *client.Client, b *render.Bundle, run *runDir) error {
	urls, err := published(ctx, c, b)
	if err != nil {
		return err
	}
	fmt.Fprintln(a.err)
	for _, u := range urls {
		a.step("open", "%s", u)
	}
	a.step("look", "writ get all · writ get refused · writ logs -f deployment/NAME")
	a.step("kubectl", "export KUBECONFIG=%s", filepath.Join(run.path, kubeconfigName))
	fmt.Fprintf(a.err, "\n%s\n\n", paint(a.errColor, dim, "Ctrl-C stops everything."))
	return nil
}
