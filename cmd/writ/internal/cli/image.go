package cli

import (
	"context"
	"fmt"
	"path/filepath"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/writ-dev/writ/nodeagent/image"
)

func (a *app) imageCmd() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "image",
		Short: "Build images without a registry, and look at the local store",
		Example: `  writ image build ./web -t shop/web
  writ image ls`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(a.imageBuildCmd(), a.imageListCmd(), a.imageLoadCmd(), a.imageRemoveCmd())
	return cmd
}

// openImages opens the user's image store.
func openImages() (*image.Store, error) {
	base, err := cacheHome()
	if err != nil {
		return nil, err
	}
	return image.Open(filepath.Join(base, "images"))
}

// buildImage builds a Go package into the store and says so.
func (a *app) buildImage(ctx context.Context, store *image.Store, dir, ref string) (image.Result, error) {
	start := time.Now()
	r, err := store.Build(ctx, image.BuildOptions{Dir: dir, Ref: ref})
	if err != nil {
		return r, err
	}
	a.step("image", "%-24s %s  %s", ref, short(r.Digest), time.Since(start).Round(10*time.Millisecond))
	return r, nil
}

func (a *app) imageBuildCmd() *cobra.Command {
	var tag, output string
	cmd := &cobra.Command{
		Use:   "build DIR",
		Short: "Build the Go main package in DIR into an image",
		Long: `Compiles the Go main package in DIR to a static binary and puts it into an image of one
layer in the local store. The same source gives the same digest everywhere. The result
is printed as NAME@DIGEST, which is what a program should be given as input.`,
		Example: `  writ image build ./web -t shop/web
  writ render . -i image_web=$(writ image build ./web -t shop/web)`,
		ValidArgsFunction: completeDirs,
		Args:              cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			dir, err := filepath.Abs(args[0])
			if err != nil {
				return err
			}
			if tag == "" {
				tag = filepath.Base(dir)
			}
			store, err := openImages()
			if err != nil {
				return err
			}
			r, err := a.buildImage(cmd.Context(), store, dir, tag)
			if err != nil {
				return err
			}
			if output != "" {
				return a.encode(output, r)
			}
			_, err = fmt.Fprintln(a.out, r.Ref)
			return err
		},
	}
	a.outputFlag(cmd, &output)
	cmd.Flags().StringVarP(&tag, "tag", "t", "", "name of the image (default: the directory's)")
	return cmd
}

func (a *app) imageListCmd() *cobra.Command {
	var output string
	cmd := &cobra.Command{
		Use: "ls", Aliases: []string{"list"},
		Short: "List the images in the local store",
		Example: `  writ image ls
  writ image ls -o json`,
		Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			store, err := openImages()
			if err != nil {
				return err
			}
			list, err := store.List()
			if err != nil {
				return err
			}
			if output != "" {
				return a.encode(output, list)
			}
			tw := tabwriter.NewWriter(a.out, 0, 8, 3, ' ', 0)
			fmt.Fprintln(tw, "NAME\tDIGEST\tSIZE")
			for _, i := range list {
				fmt.Fprintf(tw, "%s\t%s\t%.1f MB\n", i.Ref, i.Digest, float64(i.Size)/1e6)
			}
			return tw.Flush()
		},
	}
	a.outputFlag(cmd, &output)
	return cmd
}

func (a *app) imageLoadCmd() *cobra.Command {
	var output string
	cmd := &cobra.Command{
		Use:     "load FILE",
		Short:   "Load an image from a tar file (docker save, OCI layout)",
		Example: `  docker save redis:8 -o redis.tar && writ image load redis.tar`,
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			store, err := openImages()
			if err != nil {
				return err
			}
			loaded, err := store.Load(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			if output != "" {
				return a.encode(output, loaded)
			}
			for _, r := range loaded {
				fmt.Fprintln(a.out, r.Ref)
			}
			return nil
		},
	}
	a.outputFlag(cmd, &output)
	return cmd
}

func (a *app) imageRemoveCmd() *cobra.Command {
	return &cobra.Command{
		Use: "rm NAME...", Aliases: []string{"remove"},
		Short:   "Remove images from the local store",
		Example: `  writ image rm shop/web shop/api`,
		Args:    cobra.MinimumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			store, err := openImages()
			if err != nil {
				return err
			}
			for _, name := range args {
				if err := store.Remove(name); err != nil {
					return err
				}
			}
			return nil
		},
	}
}
