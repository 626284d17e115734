// Package auth says who may talk to a cluster and what they may do.
//
// It keeps the cluster's own certificate authority and the files made from it
// (serving certificate, administrator's and nodes' kubeconfig), signs the
// certificates of joining nodes, tells from a request who sends it, and decides
// what that user may do. It never trusts a name that a client chose: a
// certificate's subject is written here, not taken from the request.
//
// Files are written whole or not at all and readable by their owner only.
package auth
