# Old and new syntax say the same; a line may end in a comma, a call may have parentheses and a block.
# file: app/models/user.rb
class User < ActiveRecord::Base
  has_many :photos, :dependent => :destroy, :class_name => "Photo"
  has_many :albums,
    dependent: :delete_all,
    inverse_of: :user,
  class_name: :Album
  has_many(:notes, dependent: :nullify) do
    def recent; order(:created_at); end
  end
  has_one :card, "dependent" => :restrict_with_error
  has_many :drafts, foreign_key: :author_id
  has_many :reviews, foreign_key: "author_id", dependent: nil
  has_many :logs, dependent: :destroy_async
  has_many :odd, class_name: "Photo", dependent: :explode
end
# file: app/models/rest.rb
class Photo < ActiveRecord::Base
  belongs_to :user
end
class Album < ActiveRecord::Base; belongs_to :user; end
class Note < ActiveRecord::Base; belongs_to :user; end
class Card < ActiveRecord::Base; belongs_to :user, dependent: :destroy; end
class Draft < ActiveRecord::Base; belongs_to :author, class_name: "User"; end
class Review < ActiveRecord::Base; belongs_to :author, class_name: "User", dependent: :nullify; end
class Log < ActiveRecord::Base; belongs_to :user; end
# Not a model: it only looks like one.
class Report
  def self.has_many(*) = nil
end
