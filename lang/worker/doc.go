// Package worker evaluates programs in processes of their own, so that one that
// never ends or eats all memory costs a killed process and a message instead of
// the program that asked. Pool is the asking side; Main is what the other
// processes run.
//
// Another process is this binary again, with Argument as its first argument. It
// gets requests on its standard input, answers on its standard output, and ends
// when its input ends, so that it never outlives who started it. It gets no
// environment. It opens the module root itself, through os.Root, because a file
// system cannot be sent: the library is the one that is given to Main.
//
// A process evaluates many programs, one after another. Nothing is kept from
// one to the next that a result could depend on.
package worker
