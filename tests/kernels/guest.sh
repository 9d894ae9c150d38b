#!/bin/busybox sh
# Process 1 of the machine that kernels.py boots: records, reports into /results, and sends those out.
/bin/busybox --install -s /bin
export PATH=/bin:/heaptrack/bin
mount -t proc proc /proc
mount -t sysfs sys /sys
mount -t devtmpfs dev /dev
cd /tmp || exit
ulimit -c 0

say() { echo "guest: $(cut -d' ' -f1 /proc/uptime) $*"; }

# done_with NAME STATUS: what is known of NAME.zst
done_with() {
	echo "$2" >"/results/$1.status"
	heaptrack_print --json --limit 0 "$1.zst" >"/results/$1.json" 2>>"/results/$1.err"
	say "$1: status $2"
}

# launch NAME PROGRAM...: with a line to read
launch() {
	name=$1
	shift
	echo | timeout 60 heaptrack -f -o "$name" "$@" >"/results/$name.out" 2>"/results/$name.err"
	done_with "$name" $?
}

# until_in WORD FILE
until_in() {
	n=0
	until grep -q "$1" "$2" 2>/dev/null || [ $n -gt 200 ]; do
		sleep 0.1
		n=$((n + 1))
	done
}

# attach NAME PROGRAM...: from its "ready" to its "done"
attach() {
	name=$1
	shift
	rm -f input && mkfifo input
	"$@" <input >"/results/$name.program" 2>&1 &
	pid=$!
	exec 3>input
	until_in ready "/results/$name.program"
	timeout 60 heaptrack -f -o "$name" -p $pid >"/results/$name.out" 2>"/results/$name.err" &
	recording=$!
	until_in 'attached to process\|cannot' "/results/$name.err"
	echo >&3
	until_in done "/results/$name.program"
	kill -TERM $recording
	wait $recording
	status=$?
	exec 3>&-
	wait $pid
	echo "status $?" >>"/results/$name.program"
	done_with "$name" $status
}

# Until its end was looked at, for which it waits 50 ms: on a busy machine that is missed now and then.
# It keeps what it has freed for seconds, so that this is no moment of its time, however slow it was
resident_end() {
	for _ in 1 2 3 4 5 6 7 8 9 10 11 12; do
		launch end /v/resident kept 5
		grep -q '"at": *"end"' /results/end.json && break
	done
	heaptrack_print end.zst >/results/end.text 2>&1
}

# start_waiting NAME PROGRAM...: a resident that waits, perhaps below heaptrack; its pid is in $pid
start_waiting() {
	waiting=$1
	shift
	"$@" >"/results/$waiting.program" 2>"/results/$waiting.err" &
	started=$!
	until_in rss "/results/$waiting.program"
	pid=$(pidof resident)
}

# resident WAY: looked at on request, and perhaps at its end
resident() {
	start_waiting "resident-$1" heaptrack -f -o "resident-$1" /v/resident "$1" wait
	timeout 60 heaptrack --ctl "$pid" look --json >"/results/resident-$1.answer" 2>&1
	kill "$pid" && wait $started
	done_with "resident-$1" $?
}

# Looks on request: of a program that is recorded, of one that is attached to, of one that is not recorded
requests() {
	start_waiting request heaptrack -f -o request /v/resident kept wait
	timeout 60 heaptrack --look "$pid" >/results/request.look 2>&1
	timeout 60 heaptrack --ctl "$pid" look --json >/results/request.answer 2>&1
	kill "$pid" && wait $started
	done_with request $?

	start_waiting attached /v/resident cache wait
	timeout 60 heaptrack -f -o attached --max-pause 2s --duration 1s -p "$pid" >/results/attached.out 2>>/results/attached.err
	done_with attached $?
	kill "$pid" && wait $started

	start_waiting plain /v/resident kept wait
	timeout 60 heaptrack --look "$pid" --max-pause 2s >/results/plain.look 2>>/results/plain.err
	status=$?
	mv heaptrack.resident.*.zst plain.zst
	kill "$pid" && wait $started
	done_with plain $status
}

# A group with 48 MB; $1: its folder, $2: the limit's file. First heaptrack and a program that wants 400 are
# in it, then programs alone that come near the limit slowly
limited() {
	mkdir -p "$1" && echo 50331648 >"$1/$2" || return
	[ ! -e "$1/memory.swap.max" ] || echo 0 >"$1/memory.swap.max"
	(
		echo 0 >"$1/cgroup.procs"
		timeout 120 heaptrack -f -o memory /v/guest eat 400 >/results/memory.out 2>/results/memory.err
		echo $? >memory.status
	)
	done_with memory "$(cat memory.status)"
	for name in nibble1 nibble2 nibble3 nibble4 nibble5; do
		launch $name /v/guest nibble "$1/cgroup.procs"
	done
}

# A shell, what it executes, and copies of both
children() {
	timeout 60 heaptrack -f --children -o children /v/dash -c \
		'/v/tree "a100f{a200t50q3}x{a300f{a400f{dda500}w}w}wa5"; /v/tree a600t700b1; (:); exit 7' \
		>/results/children.out 2>/results/children.err
	done_with children $?
}

memory_limit() {
	case $(cat /proc/cmdline) in
	*cgroup=v1*)
		mount -t tmpfs groups /sys/fs/cgroup && mkdir /sys/fs/cgroup/memory &&
			mount -t cgroup -o memory memory /sys/fs/cgroup/memory || return
		limited /sys/fs/cgroup/memory/small memory.limit_in_bytes
		;;
	*)
		mount -t cgroup2 groups /sys/fs/cgroup &&
			echo +memory >/sys/fs/cgroup/cgroup.subtree_control || return
		limited /sys/fs/cgroup/small memory.max
		;;
	esac
}

say "kernel $(uname -r)"
uname -r >/results/kernel
for program in combinations combinations_static combinations_musl combinations_musl_static; do
	[ -e /v/$program ] || continue
	for shape in threads forks; do
		launch "launch-$program-$shape" /v/$program $shape
		attach "attach-$program-$shape" /v/$program $shape
	done
done
launch exec /v/processes exec /v/combinations threads
launch peak /v/guest peak
children
for way in kept pinned cache zeros lazy stacks file memfd reserve untouched vast; do
	resident $way
done
resident_end
requests
memory_limit
say "sending"
stty -F /dev/ttyS1 raw
tar -C /results -cf /dev/ttyS1 .
sync
sleep 1
echo o >/proc/sysrq-trigger
sleep 60
