// See tls_files.h.
#include "tls_files.h"

#include <uv.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <utility>

#ifdef __linux__
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif

namespace pg_conduit {

namespace {

#ifdef __linux__

// Not in the headers of every C library that this is compiled with.
constexpr unsigned kCloseOnExec = 1;   // MFD_CLOEXEC
constexpr unsigned kAllowSealing = 2;  // MFD_ALLOW_SEALING
constexpr unsigned kNeverRun = 8;      // MFD_NOEXEC_SEAL, Linux 6.3
constexpr int kAddSeals = 1033;        // F_ADD_SEALS
constexpr int kAllSeals = 1 | 2 | 4 | 8;

int CreateMemfd() {
  constexpr char kName[] = "pg-conduit-tls";
  constexpr unsigned kFlags = kCloseOnExec | kAllowSealing;
  const auto fd = syscall(SYS_memfd_create, kName, kFlags | kNeverRun);
  return static_cast<int>(fd >= 0 ? fd : syscall(SYS_memfd_create, kName, kFlags));
}

class MemoryFiles : public TlsFiles {
 public:
  explicit MemoryFiles(Texts texts) : TlsFiles(std::move(texts)) {
    for (const std::string& text : texts_) {
      const int fd = CreateMemfd();
      if (fd < 0) return;
      Descriptor descriptor{fd, 0, 0};
      struct stat status;
      // libpq refuses a key file that others may read.
      bool made = fchmod(fd, 0600) == 0 && fstat(fd, &status) == 0;
      for (size_t done = 0; made && done < text.size();) {
        const ssize_t written = write(fd, text.data() + done, text.size() - done);
        made = written > 0;
        if (made) done += static_cast<size_t>(written);
      }
      if (!made) {
        close(fd);
        return;
      }
      fcntl(fd, kAddSeals, kAllSeals);
      descriptor.device = status.st_dev;
      descriptor.inode = status.st_ino;
      descriptors_.push_back(descriptor);
      names_.push_back("/proc/self/fd/" + std::to_string(fd));
    }
  }

  ~MemoryFiles() override {
    for (const Descriptor& descriptor : descriptors_) {
      if (IsOurs(descriptor.fd, descriptor)) close(descriptor.fd);
    }
  }

  // Fails without /proc, and after the process has changed its user.
  bool Present() override {
    if (descriptors_.size() != texts_.size()) return false;
    for (size_t index = 0; index < names_.size(); ++index) {
      const int fd = open(names_[index].c_str(), O_RDONLY | O_CLOEXEC);
      if (fd < 0) return false;
      const bool ours = IsOurs(fd, descriptors_[index]);
      close(fd);
      if (!ours) return false;
    }
    return true;
  }

  void Absent() override {}

 private:
  struct Descriptor {
    int fd;
    dev_t device;
    ino_t inode;
  };

  // The application may have closed a descriptor that it did not open, whose number is another
  // file's now.
  static bool IsOurs(int fd, const Descriptor& descriptor) {
    struct stat status;
    return fstat(fd, &status) == 0 && status.st_dev == descriptor.device &&
           status.st_ino == descriptor.inode;
  }

  std::vector<Descriptor> descriptors_;
};

#endif

std::string TemporaryFolder() {
  std::string path(4096, '\0');
  size_t size = path.size();
  if (uv_os_tmpdir(&path[0], &size) != 0) return "";
  path.resize(size);
  return path;
}

// The result of a libuv call that blocks.
template <typename Function, typename... Arguments>
ssize_t Call(Function function, Arguments... arguments) {
  uv_fs_t request;
  const int result = function(nullptr, &request, arguments..., nullptr);
  uv_fs_req_cleanup(&request);
  return result;
}

class FolderFiles : public TlsFiles {
 public:
  explicit FolderFiles(Texts texts) : TlsFiles(std::move(texts)) {
    unsigned char random[16];
    const std::string parent = TemporaryFolder();
    if (parent.empty() || uv_random(nullptr, nullptr, random, sizeof(random), 0, nullptr) != 0) {
      return;
    }
    folder_ = parent + "/pg-conduit-tls-";
    for (const unsigned char byte : random) {
      folder_ += "0123456789abcdef"[byte >> 4];
      folder_ += "0123456789abcdef"[byte & 15];
    }
    for (size_t index = 0; index < texts_.size(); ++index) {
      names_.push_back(folder_ + "/" + std::to_string(index) + ".pem");
    }
  }

  bool Present() override {
    // A folder that is there already is not ours.
    if (folder_.empty() || Call(uv_fs_mkdir, folder_.c_str(), 0700) != 0) return false;
    made_ = true;
    for (size_t index = 0; index < names_.size(); ++index) {
      if (!Write(names_[index], texts_[index])) return false;
    }
    return true;
  }

  void Absent() override {
    if (!made_) return;
    for (const std::string& name : names_) Call(uv_fs_unlink, name.c_str());
    Call(uv_fs_rmdir, folder_.c_str());
    made_ = false;
  }

 private:
  static bool Write(const std::string& name, const std::string& text) {
    const int flags = UV_FS_O_CREAT | UV_FS_O_EXCL | UV_FS_O_WRONLY;
    const auto fd = static_cast<uv_file>(Call(uv_fs_open, name.c_str(), flags, 0600));
    if (fd < 0) return false;
    ssize_t written = 0;
    for (size_t done = 0; done < text.size(); done += static_cast<size_t>(written)) {
      const uv_buf_t rest = uv_buf_init(const_cast<char*>(text.data()) + done,
                                        static_cast<unsigned>(text.size() - done));
      written = Call(uv_fs_write, fd, &rest, 1u, int64_t{-1});
      if (written <= 0) break;
    }
    Call(uv_fs_close, fd);
    return written > 0;
  }

  std::string folder_;
  bool made_ = false;
};

}  // namespace

std::shared_ptr<TlsFiles> TlsFiles::Open(Texts texts, std::string* message) {
#ifdef __linux__
  const char* wanted = std::getenv("PG_CONDUIT_TLS_FILES");
  if (wanted == nullptr || std::strcmp(wanted, "folder") != 0) {
    auto files = std::make_shared<MemoryFiles>(texts);
    if (Scope(files).ok()) return files;
  }
#endif
  auto files = std::make_shared<FolderFiles>(std::move(texts));
  if (Scope(files).ok()) return files;
  *message = kTlsFilesMissing;
  return nullptr;
}

std::shared_ptr<TlsFiles> TlsFilesRegistry::Get(TlsFiles::Texts texts, std::string* message) {
  open_.erase(std::remove_if(open_.begin(), open_.end(),
                             [](const std::weak_ptr<TlsFiles>& files) { return files.expired(); }),
              open_.end());
  for (const std::weak_ptr<TlsFiles>& open : open_) {
    std::shared_ptr<TlsFiles> files = open.lock();
    if (files->texts() == texts && TlsFiles::Scope(files).ok()) return files;
  }
  std::shared_ptr<TlsFiles> files = TlsFiles::Open(std::move(texts), message);
  if (files != nullptr) open_.push_back(files);
  return files;
}

}  // namespace pg_conduit
