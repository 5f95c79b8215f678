#include "walls/walls.h"

#include "base/memory.h"
#include "io/subprocess.h"

#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <linux/capability.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { TRY_S = 60, MOST_DEPTH = 4 };

const package_t BUBBLEWRAP = {"bubblewrap", "bubblewrap", "bubblewrap"};

/* GPUs, as their drivers name them: NVIDIA's (also in WSL), others'. */
static const char *const DEVICES[] = {"/dev/nvidia*", "/dev/dxg", "/dev/dri", "/dev/kfd"};

/* The devices to bind in, as far as they exist: the caller frees the list. */
static text_list_t walls_devices(void) {
    text_list_t found = {0};
    for (size_t i = 0; i < sizeof DEVICES / sizeof *DEVICES; i++) {
        glob_t paths;
        if (glob(DEVICES[i], 0, NULL, &paths) != 0)
            continue;
        for (size_t k = 0; k < paths.gl_pathc; k++)
            text_list_add(&found, paths.gl_pathv[k]);
        globfree(&paths);
    }
    return found;
}

/* ---- the command ----------------------------------------------------------------------------- */

static void add_each(text_list_t *argv, const char *option, const text_list_t *paths, bool twice) {
    for (size_t i = 0; i < paths->n; i++) {
        text_list_add(argv, option);
        text_list_add(argv, paths->items[i]);
        if (twice)
            text_list_add(argv, paths->items[i]);
    }
}

static text_list_t devices(void) {
    static const char *const ALWAYS[] = {"/dev/null",   "/dev/zero",    "/dev/full",
                                         "/dev/random", "/dev/urandom", "/dev/tty"};
    text_list_t all = walls_devices();
    for (size_t i = 0; i < sizeof ALWAYS / sizeof *ALWAYS; i++)
        if (access(ALWAYS[i], F_OK) == 0)
            text_list_add(&all, ALWAYS[i]);
    return all;
}

static void add_bubblewrap(const wall_folders_t *folders, text_list_t *argv) {
    AUTO(text_list_free) text_list_t devices = walls_devices();
    text_list_add_words(argv, "bwrap", "--die-with-parent", "--unshare-pid", "--unshare-ipc",
                        "--cap-drop", "ALL", "--ro-bind", "/", "/", "--dev", "/dev", "--proc",
                        "/proc", NULL);
    add_each(argv, "--dev-bind", &devices, true);
    add_each(argv, "--tmpfs", &folders->hidden, false);
    add_each(argv, "--bind", &folders->open, true);
}

static void add_own(const wall_folders_t *folders, text_list_t *argv) {
    AUTO_FREE char *self = NULL;
    text_list_add(argv, fs_executable(&self, NULL) == STATUS_OK ? self : "bench");
    text_list_add(argv, "wall");
    add_each(argv, "--hide", &folders->hidden, false);
    add_each(argv, "--open", &folders->open, false);
}

void walls_argv(const walls_t *walls, const wall_folders_t *folders, text_list_t *argv) {
    if (walls->kind == WALLS_NONE)
        return;
    if (walls->kind == WALLS_BUBBLEWRAP)
        add_bubblewrap(folders, argv);
    else
        add_own(folders, argv);
    text_list_add(argv, "--");
}

/* ---- which there are ------------------------------------------------------------------------- */

/* NULL if a command ran behind these walls; else why not, which the caller frees. */
static char *refusal(walls_kind_t kind) {
    const walls_t walls = {.kind = kind};
    const wall_folders_t nothing = {0};
    AUTO(text_list_free) text_list_t words = {0};
    AUTO(subprocess_result_free) subprocess_result_t result = {0};
    error_t err = ERROR_INIT;
    walls_argv(&walls, &nothing, &words);
    text_list_add(&words, "true");
    char *why = NULL;
    if (subprocess_run(text_list_argv(&words), NULL, TRY_S, &result, &err) != STATUS_OK) {
        why = mem_text(err.text);
    } else if (result.exit_code != 0) {
        result.err[strcspn(result.err, "\n")] = '\0';
        why = result.err[0] != '\0' ? mem_text(result.err)
                                    : mem_format("exit code %d", result.exit_code);
        text_make_plain(why);
    }
    return why;
}

/* "bubblewrap 0.8.0". The caller frees it. */
static char *bubblewrap_version(void) {
    AUTO_FREE char *said =
        subprocess_output((const char *const[]){"bwrap", "--version", NULL}, TRY_S);
    if (said == NULL || !text_starts(said, "bubblewrap "))
        return mem_text("bubblewrap");
    said[strcspn(said, "\n")] = '\0';
    return text_plain(said);
}

walls_t walls_find(void) {
    AUTO_FREE char *program = fs_find_program("bwrap");
    AUTO_FREE char *first = program != NULL ? refusal(WALLS_BUBBLEWRAP) : NULL;
    if (program != NULL && first == NULL)
        return (walls_t){WALLS_BUBBLEWRAP, bubblewrap_version()};
    AUTO_FREE char *second = refusal(WALLS_NAMESPACES);
    walls_t walls = {WALLS_NAMESPACES, NULL};
    if (second == NULL) {
        walls.detail = mem_text("namespaces");
    } else {
        AUTO_FREE char *install = package_install(&BUBBLEWRAP);
        walls.kind = WALLS_NONE;
        walls.detail = first != NULL
                           ? mem_format("%s; without bubblewrap: %s", first, second)
                           : mem_format("%s; bubblewrap is not installed (%s)", second, install);
    }
    return walls;
}

void walls_free(walls_t *walls) {
    free(walls->detail);
    *walls = (walls_t){0};
}

/* ---- the process inside ---------------------------------------------------------------------- */

static bool is_wall(pid_t pid) {
    char path[64], name[32];
    snprintf(path, sizeof path, "/proc/%d/comm", (int)pid);
    return fs_first_line(path, name, sizeof name) &&
           (strcmp(name, "bwrap") == 0 || strcmp(name, WALLS_NAME) == 0);
}

/* 0 if it has none. */
static pid_t first_child(pid_t pid) {
    char path[64], children[64];
    snprintf(path, sizeof path, "/proc/%d/task/%d/children", (int)pid, (int)pid);
    return fs_first_line(path, children, sizeof children) ? atoi(children) : 0;
}

/* Outside, the reaper inside, the command: the first of each one's children. */
pid_t walls_inside(pid_t started) {
    pid_t pid = started;
    for (int depth = 0; depth < MOST_DEPTH && is_wall(pid); depth++) {
        const pid_t child = first_child(pid);
        if (child == 0)
            break;
        pid = child;
    }
    return pid;
}

/* Walls by unshare(2), where there is no bubblewrap. Three processes: one outside, which ends as the command
 * does; number 1 inside, with whose end the kernel kills all that is left there; the command. */

/* Of Linux 5.12, not in every C library: the same numbers on all machines that have GPUs. */
enum { OPEN_TREE = 428, MOVE_MOUNT = 429, CLOSE_RANGE = 436, MOUNT_SETATTR = 442 };
enum { TREE_CLONE = 1, TREE_RECURSIVE = 0x8000, FROM_IS_EMPTY = 4, SET_READ_ONLY = 1 };

typedef struct mount_attributes {
    uint64_t set, clear, propagation, user_namespace;
} mount_attributes_t;

static status_t cannot(const char *what, const char *path, error_t *err) {
    return error_set(err, STATUS_FAILED, "cannot %s%s%s: %s", what, path[0] != '\0' ? " " : "",
                     path, strerror(errno));
}

/* ---- namespaces ------------------------------------------------------------------------------ */

static status_t write_file(const char *path, const char *text, error_t *err) {
    const int fd = open(path, O_WRONLY | O_CLOEXEC);
    const bool written = fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text);
    const int cause = errno;
    if (fd >= 0)
        close(fd);
    errno = cause;
    return written ? STATUS_OK : cannot("write", path, err);
}

/* With a user namespace, in which the user has the number that he has, if he may not do without. */
static status_t leave_namespaces(error_t *err) {
    enum { OURS = CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWIPC };
    char map[64];
    const uid_t user = geteuid();
    const gid_t group = getegid();
    if (unshare(OURS) == 0)
        return STATUS_OK;
    if (unshare(CLONE_NEWUSER | OURS) != 0)
        return cannot("make namespaces", "", err);
    TRY(write_file("/proc/self/setgroups", "deny", err));
    snprintf(map, sizeof map, "%u %u 1\n", (unsigned)user, (unsigned)user);
    TRY(write_file("/proc/self/uid_map", map, err));
    snprintf(map, sizeof map, "%u %u 1\n", (unsigned)group, (unsigned)group);
    return write_file("/proc/self/gid_map", map, err);
}

/* ---- mounts ---------------------------------------------------------------------------------- */

/* A mount of what is at the path, to be put somewhere else; it stays writable. */
typedef struct tree {
    const char *path;
    int fd;
} tree_t;

static status_t clone_tree(const char *path, tree_t *tree, error_t *err) {
    *tree = (tree_t){
        path, (int)syscall(OPEN_TREE, AT_FDCWD, path, TREE_CLONE | O_CLOEXEC | TREE_RECURSIVE)};
    return tree->fd >= 0 ? STATUS_OK : cannot("bind", path, err);
}

/* Make the place of `path`, and the folders above it, where they are missing. */
static status_t make_place(const char *path, bool is_folder, error_t *err) {
    AUTO_FREE char *copy = mem_text(path);
    for (char *slash = strchr(copy + 1, '/'); slash != NULL; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        mkdir(copy, 0755);
        *slash = '/';
    }
    const int file = is_folder ? mkdir(path, 0755) : open(path, O_CREAT | O_CLOEXEC, 0644);
    if (!is_folder && file >= 0)
        close(file);
    return file >= 0 || errno == EEXIST ? STATUS_OK : cannot("make", path, err);
}

static status_t put_tree(const tree_t *tree, error_t *err) {
    struct stat info;
    if (fstat(tree->fd, &info) != 0)
        return cannot("look at", tree->path, err);
    TRY(make_place(tree->path, S_ISDIR(info.st_mode), err));
    if (syscall(MOVE_MOUNT, tree->fd, "", AT_FDCWD, tree->path, FROM_IS_EMPTY) != 0)
        return cannot("bind", tree->path, err);
    close(tree->fd);
    return STATUS_OK;
}

static status_t set_read_only(const char *path, error_t *err) {
    const mount_attributes_t attributes = {.set = SET_READ_ONLY};
    return syscall(MOUNT_SETATTR, AT_FDCWD, path, TREE_RECURSIVE, &attributes, sizeof attributes) ==
                   0
               ? STATUS_OK
               : cannot("make read-only:", path, err);
}

static status_t mount_empty(const char *path, error_t *err) {
    return mount("tmpfs", path, "tmpfs", MS_NOSUID | MS_NODEV, "mode=0755") == 0
               ? STATUS_OK
               : cannot("hide", path, err);
}

/* A process of root could change the system by these, without any capability. */
static status_t mount_proc(error_t *err) {
    static const char *const WRITABLE[] = {"/proc/sys", "/proc/sysrq-trigger", "/proc/irq",
                                           "/proc/bus"};
    if (mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL) != 0)
        return cannot("mount", "/proc", err);
    for (size_t i = 0; i < sizeof WRITABLE / sizeof *WRITABLE; i++)
        if (mount(WRITABLE[i], WRITABLE[i], NULL, MS_BIND, NULL) == 0)
            TRY(set_read_only(WRITABLE[i], err));
    return STATUS_OK;
}

static status_t fill_dev(error_t *err) {
    static const char *const LINKS[][2] = {{"/proc/self/fd", "/dev/fd"},
                                           {"/proc/self/fd/0", "/dev/stdin"},
                                           {"/proc/self/fd/1", "/dev/stdout"},
                                           {"/proc/self/fd/2", "/dev/stderr"}};
    for (size_t i = 0; i < sizeof LINKS / sizeof *LINKS; i++)
        if (symlink(LINKS[i][0], LINKS[i][1]) != 0)
            return cannot("make", LINKS[i][1], err);
    return mkdir("/dev/shm", 0755) == 0 && chmod("/dev/shm", 01777) == 0
               ? STATUS_OK
               : cannot("make", "/dev/shm", err);
}

/* What is bound in is cloned before everything becomes read-only, and put there once other mounts are. */
static status_t build(const wall_folders_t *folders, const text_list_t *nodes, tree_t *trees,
                      error_t *err) {
    size_t n = 0;
    if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0)
        return cannot("make private:", "/", err);
    for (size_t i = 0; i < nodes->n; i++)
        TRY(clone_tree(nodes->items[i], &trees[n++], err));
    for (size_t i = 0; i < folders->open.n; i++)
        TRY(clone_tree(folders->open.items[i], &trees[n++], err));
    TRY(set_read_only("/", err));
    TRY(mount_empty("/dev", err));
    TRY(fill_dev(err));
    TRY(mount_proc(err));
    for (size_t i = 0; i < folders->hidden.n; i++)
        TRY(mount_empty(folders->hidden.items[i], err));
    for (size_t i = 0; i < n; i++)
        TRY(put_tree(&trees[i], err));
    return STATUS_OK;
}

/* Enter the folder that we are in anew: what was opened before the mounts is not behind them. */
static status_t build_walls(const wall_folders_t *folders, error_t *err) {
    AUTO_FREE char *before = getcwd(NULL, 0);
    AUTO(text_list_free) text_list_t nodes = devices();
    AUTO_FREE tree_t *trees = mem_zeroed(nodes.n + folders->open.n + 1, sizeof *trees);
    status_t status = build(folders, &nodes, trees, err);
    if (chdir("/") != 0 || (before != NULL && chdir(before) != 0))
        errno = 0; /* it is hidden: then / */
    return status;
}

/* ---- processes ------------------------------------------------------------------------------- */

/* Those that root has, too: with them the walls could be taken down from inside. */
static status_t drop_capabilities(error_t *err) {
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct none[_LINUX_CAPABILITY_U32S_3] = {0};
    for (unsigned long capability = 0; capability < 64; capability++)
        prctl(PR_CAPBSET_DROP, capability, 0, 0, 0); /* fails for those that do not exist */
    prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || syscall(SYS_capset, &header, none) != 0)
        return cannot("drop capabilities", "", err);
    return STATUS_OK;
}

static void die_with_parent(int its_end) {
    struct pollfd end = {.fd = its_end, .events = POLLIN};
    prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
    if (poll(&end, 1, 0) != 0) /* it died before that took effect */
        _exit(127);
}

/* Neither holds the command's pipes open beyond its end. */
static void leave_streams(void) {
    const int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    for (int fd = 0; fd < 3 && null >= 0; fd++)
        dup2(null, fd);
}

/* Wait for `child`, and for orphans on the way. */
static _Noreturn void end_as(pid_t child) {
    int wait_status = 0;
    pid_t ended;
    leave_streams();
    while ((ended = waitpid(-1, &wait_status, 0)) != child)
        if (ended < 0 && errno != EINTR)
            _exit(127);
    _exit(WIFEXITED(wait_status) ? WEXITSTATUS(wait_status) : 128 + WTERMSIG(wait_status));
}

static _Noreturn void fail(const error_t *err) {
    fprintf(stderr, "bench wall: %s\n", err->text);
    _exit(127);
}

static _Noreturn void be_first_inside(const wall_folders_t *folders, char *const *command) {
    error_t err = ERROR_INIT;
    if (build_walls(folders, &err) != STATUS_OK || drop_capabilities(&err) != STATUS_OK)
        fail(&err);
    const pid_t child = fork();
    if (child > 0)
        end_as(child);
    /* Not execvp(), which gives what is no program to a shell. */
    char *program =
        strchr(command[0], '/') != NULL ? mem_text(command[0]) : fs_find_program(command[0]);
    if (child == 0 && program != NULL)
        execv(program, command);
    cannot("start", command[0], &err);
    fail(&err);
}

status_t walls_enter(const wall_folders_t *folders, char *const *command, error_t *err) {
    int life[2];
    syscall(CLOSE_RANGE, 3U, ~0U, 0U); /* a folder that is open leads around the walls */
    prctl(PR_SET_NAME, WALLS_NAME, 0, 0, 0);
    TRY(leave_namespaces(err));
    if (pipe2(life, O_CLOEXEC) != 0)
        return cannot("make a pipe", "", err);
    const pid_t child = fork();
    if (child < 0)
        return cannot("start a process", "", err);
    if (child > 0)
        end_as(child);
    close(life[1]);
    die_with_parent(life[0]);
    be_first_inside(folders, command);
}
