/// What each command is, in words, for help and manual.
enum CommandText {
    /// How it is called, and what it does in a line.
    static func summary(of command: CommandName) -> (synopsis: String, text: String) {
        switch command {
        case .upload: ("FILE...", "prepare, upload and clean up each file")
        case .watch: ("watch DIR...", "bring every finished recording that appears in the folders")
        case .run: ("run [--once]", "work off the upload list")
        case .list: ("list", "the upload list")
        case .show: ("show ID", "one item in full")
        case .pause: ("pause ID...|--all", "stop items and keep everything")
        case .resume: ("resume ID...|--all", "let paused items go on")
        case .retry: ("retry ID...|--all", "try failed items again")
        case .next: ("next ID...|--all", "put items first")
        case .cancel: ("cancel ID...|--all", "give items up, keep their entries")
        case .remove: ("remove ID...", "give items up and forget them")
        case .clear: ("clear", "remove every item")
        case .clean: ("clean", "put cache, list and far side in order")
        case .probe: ("probe FILE...", "what is in a file, and what --compress would do")
        case .receive: ("receive", "the server that puts the blocks together")
        case .config: ("config [show|path]", "the settings in force, each with where it comes from")
        case .completions: ("completions SHELL", "what bash, zsh or fish needs to complete a command line")
        case .man: ("man", "the manual page")
        }
    }

    /// What it is for, in a few sentences.
    static func about(_ command: CommandName) -> String {
        switch command {
        case .upload:
            "Brings recordings off this machine: compresses them if asked to, keeps a copy in the video cache, uploads it in "
                + "blocks so that nothing is lost and nothing starts over, and deletes the copy once the far side has it. "
                + "The recording itself is never changed. Interrupted, the same command goes on where it stopped."
        case .watch:
            "Does for every recording that appears in the folders, and in those below them, what “ingest FILE” does, until it is "
                + "stopped: once it is finished, and once only, whatever it is called. Whether it is finished the kernel "
                + "tells (nobody has it open for writing) and the container (nothing is missing); where they cannot, it has to be "
                + "quiet for a while. “ingest list” shows what is waited for. Works off the upload list too. With "
                + "--seen lists what has been brought, with --forget forgets it. Encodes politely: at nice 10 and idle "
                + "I/O priority. SIGHUP has it read its settings again."
        case .run:
            "Works off the upload list until it is stopped; with --once until nothing is left to do. Encodes politely: at "
                + "nice 10 and idle I/O priority. SIGHUP has it read its settings again."
        case .list: "Shows what is on its way, what waits, and what failed and why."
        case .show: "Shows everything that is known of one item: how its copy was made, what was lost, how far it is."
        case .pause:
            "A running ingest stops the items within half a second. What has been prepared and sent is kept. An “ingest "
                + "FILE” that was only for them ends."
        case .resume: "Lets paused items go on; a running ingest takes them up, else start “ingest run”."
        case .retry: "Lets failed items go on where they stopped, at once."
        case .next: "Puts the items before all others; the last one named comes first."
        case .cancel:
            "Stops the items, has the far side drop what it holds, and deletes their copies. Refuses where a copy may be the "
                + "last one of its recording, unless --force is given."
        case .remove:
            "Cancels the items and forgets their entries. Refuses to delete what may be a last copy, as cancel does."
        case .clear: "Removes every item of the list with its copy; with --finished only what is done or cancelled."
        case .clean:
            "Deletes unfinished copies that belong to nobody, takes finished ones that no list knows into the list, does "
                + "owed clean-ups, and has the far side drop what it should."
        case .probe: "Shows the streams of a recording, what would become of each, and what would be lost."
        case .receive:
            "Receives uploads at http://ADDR:PORT/upload and serves the finished files. Beyond this machine it wants a token "
                + "(--token-file, or INGEST_TOKEN in the environment), unless --open is given. SIGHUP has it read its settings "
                + "again."
        case .config:
            "Shows every setting as it could stand in the configuration, with where it comes from: the command line, an "
                + "environment variable, a line of a file, or the default. “config path” prints the file to write settings into."
        case .completions:
            "Prints a script that makes the shell complete commands, options, presets, item ids and destinations: for bash, "
                + "eval \"$(ingest completions bash)\" in ~/.bashrc; for zsh, in a file _ingest in a directory of fpath; for "
                + "fish, ingest completions fish > ~/.config/fish/completions/ingest.fish."
        case .man: "Prints the manual page: ingest man | man -l -"
        }
    }
}
