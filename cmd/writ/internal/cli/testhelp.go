package cli

// testHelp is what writ test says about the tests that it runs.
const testHelp = `Runs the tests in *_test.cue and *_test.jsonnet files of DIR and below. A file has one
field "tests"; its members are the tests, by name:

  tests: {
    // facts
    "web is doubled": {got: web.replicas, want: 2}
    "ports differ":   {holds: web.port != api.port, message: "both listen on one port"}
    // a value that must not evaluate, with a message that matches
    "needs a name":   {value: #App & {name: ""}, fail: "MinRunes"}
    // a rendering of the unit or program beside the test file, or of another:
    // unit: "NAME", or entry: "FILE" relative to the test file
    "production": {
      env: "prod"                // an environment of writ.yaml
      inputs: {image_web: "web:1"}
      expect: [
        {kind: "Deployment", name: "web", match: {spec: {replicas: 2}}},
        {kind: "Service", count: 3},
        {kind: "Secret", absent: true},
        {name: "web", kind: "Deployment",
         fields: {".spec.template.spec.containers[name=web].image": "web:1"}},
      ]
      snapshot: true             // equal to FILE.snapshots/production.yaml
    }
    "no such size": {inputs: {size: "huge"}, fail: "size"}
  }

Jsonnet tests are the same object. A CUE test file sees the package that it names; a
Jsonnet one imports what it needs. Evaluations are shared by all tests that look at
the same program with the same inputs.

--cover counts what of the programs the tests and the environments of writ.yaml use:
fields, branches, alternatives, comprehensions and functions.`
